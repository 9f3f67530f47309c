--- Adds to a counter.
--- KEYS[1] counter: string  the count
--- KEYS[2...] operation: string  what remembers the result, or none
--- ARGV[1] from: number  begin of the bucket that is meant to be the present one
--- ARGV[2] to: number  its end; 0: whatever the time is
--- ARGV[3] bucketEnd: number  0 without buckets
--- ARGV[4] ttl: number  milliseconds
--- ARGV[5] by: number  integer
--- ARGV[6] operationTtl: number  how long the result is remembered, milliseconds
--- RETURNS [state: 'moved', now: string] | [state: 'expired'] | [state: 'range'] | [state: 'ok', count: string]
--- EFFECT once
if KEYS[2] then
  local known = redis.call('GET', KEYS[2])
  if known then return { 'ok', known } end
end
--- @include ../../buckets/lua/lib/now.lua
local bucketEnd, ttl = ARGV[3], ARGV[4]
--- @include ../../buckets/lua/lib/expiry.lua
local count = tonumber(redis.call('GET', KEYS[1]) or 0) + ARGV[5]
if math.abs(count) > 9007199254740991 then return { 'range' } end
redis.call('INCRBY', KEYS[1], ARGV[5])
redis.call('PEXPIREAT', KEYS[1], expiresAt)
local text = string.format('%.0f', count)
if KEYS[2] then redis.call('SET', KEYS[2], text, 'PX', ARGV[6]) end
return { 'ok', text }
