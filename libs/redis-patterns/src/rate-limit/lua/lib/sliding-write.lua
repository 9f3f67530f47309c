local p, N = slots[i], tonumber(ARGV[i * 6 + 1])
if not dead[i] then redis.call('DEL', k) end
-- Counted before it is cleared: after any other write a full server would not refuse any more.
redis.call('HINCRBY', k, string.format('%.0f', p), n)
if dead[i] and #dead[i] > 0 then redis.call('HDEL', k, unpack(dead[i])) end
redis.call('PEXPIRE', k, left)
reply[i * 3 + 2] = math.ceil((p + N + 1) * tonumber(ARGV[i * 6 - 1]) / N - now)
