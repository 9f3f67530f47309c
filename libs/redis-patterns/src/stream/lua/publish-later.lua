--- Keeps a message until it is due by the server's clock, unless one with the same dedup id was published lately.
--- KEYS[1] delayed: string      id -> server time at which the message is due
--- KEYS[2] delayedBody: string  id -> packed fields
--- KEYS[3] dedup: string        looked at only with a dedupTtlMs
--- ARGV[1] id: string
--- ARGV[2] delayMs: number
--- ARGV[3] dedupTtlMs: number   0: no dedup id
--- ARGV[4] ttlMs: number        of what is delayed, beyond the delay
--- ARGV[5...] fields: string    names and values
--- RETURNS string  its id, or the id of the first one with this dedup id
--- EFFECT once
--- @include lib/time.lua
--- @include lib/keep.lua
if ARGV[3] ~= '0' then
  local known = redis.call('GET', KEYS[3])
  if known then return known end
end
local fields = {}
for i = 5, #ARGV do fields[#fields + 1] = ARGV[i] end
redis.call('HSET', KEYS[2], ARGV[1], cmsgpack.pack(fields))
redis.call('ZADD', KEYS[1], text(nowMs() + ARGV[2]), ARGV[1])
keep(KEYS[2], text(ARGV[2] + ARGV[4]))
keep(KEYS[1], text(ARGV[2] + ARGV[4]))
if ARGV[3] ~= '0' then redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[3]) end
return ARGV[1]
