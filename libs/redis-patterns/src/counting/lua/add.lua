--- Counts ids.
--- KEYS[1] exact: string  set of the ids
--- KEYS[2] estimate: string  HyperLogLog of the ids
--- ARGV[1] from: number  begin of the bucket that is meant to be the present one
--- ARGV[2] to: number  its end; 0: whatever the time is
--- ARGV[3] strategy: 'auto' | 'set' | 'hll'  in what is counted
--- ARGV[4] bucketEnd: number  0 without buckets
--- ARGV[5] ttl: number  milliseconds
--- ARGV[6] exactLimit: number  `auto`: largest count that is kept exactly
--- ARGV[7...] ids: string  at most 1000
--- RETURNS [state: 'moved', now: string] | [state: 'expired'] | [state: 'strategy'] | [state: 'ok', changed: 0 | 1]  whether the count is another one
--- EFFECT idempotent
--- @include ../../buckets/lua/lib/now.lua
local bucketEnd, ttl = ARGV[4], ARGV[5]
--- @include ../../buckets/lua/lib/expiry.lua
--- @include lib/strategy.lua
local changed = 0
if strategy ~= 'set' then changed = redis.call('PFADD', KEYS[2], unpack(ARGV, 7)) end
if exact then
  changed = math.min(redis.call('SADD', KEYS[1], unpack(ARGV, 7)), 1)
  if strategy == 'auto' and redis.call('SCARD', KEYS[1]) > tonumber(ARGV[6]) then redis.call('UNLINK', KEYS[1]) end
end
redis.call('PEXPIREAT', KEYS[1], expiresAt)
redis.call('PEXPIREAT', KEYS[2], expiresAt)
return { 'ok', changed }
