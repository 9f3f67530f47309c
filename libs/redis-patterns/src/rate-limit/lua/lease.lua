--- Renews or gives back a lease of a concurrency policy.
--- KEYS[1] stateKey: string
--- ARGV[1] action: 'extend' | 'release'
--- ARGV[2] id: string  of the lease
--- ARGV[3] units: number  how many it takes up
--- ARGV[4] lease: number  ms
--- RETURNS 0 | 1  1 when it was held until now
--- EFFECT idempotent
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local k, id, n, lease = KEYS[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local ends = tonumber(redis.call('ZSCORE', k, id) or 0)
local held = ends > now and 1 or 0
if ARGV[1] == 'release' then
  redis.call('ZREM', k, id)
  for j = 2, n do redis.call('ZREM', k, id .. ':' .. j) end
elseif held == 1 then
  redis.call('ZADD', k, 'XX', now + lease, id)
  for j = 2, n do redis.call('ZADD', k, 'XX', now + lease, id .. ':' .. j) end
  if redis.call('PTTL', k) < lease + 1 then redis.call('PEXPIRE', k, lease + 1) end
end
return held
