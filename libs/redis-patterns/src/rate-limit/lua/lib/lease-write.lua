if dead[i] then redis.call('DEL', k) end
local x, W = ARGV[i * 6 + 1], tonumber(ARGV[i * 6 - 1])
redis.call('ZADD', k, now + W, x)
for j = 2, n do redis.call('ZADD', k, now + W, x .. ':' .. j) end
redis.call('ZREMRANGEBYSCORE', k, '-inf', now)
redis.call('PEXPIRE', k, left - now + 1)
reply[i * 3 + 2] = left - now
