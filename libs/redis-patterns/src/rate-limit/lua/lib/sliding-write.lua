local field, N = slots[i], tonumber(ARGV[i * 6 + 1])
if not dead[i] then redis.call('DEL', k) end
-- Counted before it is cleared: after any other write a full server would not refuse any more.
redis.call('HINCRBY', k, field, n)
if dead[i] and #dead[i] > 0 then redis.call('HDEL', k, unpack(dead[i])) end
redis.call('PEXPIRE', k, left)
local W = tonumber(ARGV[i * 6 - 1])
local index = tonumber(string.match(field, '^%d+'))
reply[i * 3 + 2] = math.max(reply[i * 3 + 2], math.ceil((index + N + 1) * W / N - now))
