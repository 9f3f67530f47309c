--- One sign of life of a reader: notes it among the members, removes members that are silent and have nothing pending, and
--- stores how far the group has finished.
--- KEYS[1] stream: string
--- KEYS[2] members: string      consumer -> server time of its last tick, milliseconds
--- KEYS[3] floor: string        position below which the group has finished everything
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- ARGV[3] reapAfterMs: number  silence after which a member without pending entries is removed
--- ARGV[4] membersTtlMs: number
--- ARGV[5] floorTtlMs: number
--- RETURNS 0 | 1  0 when the group is missing
--- EFFECT idempotent
--- @include lib/ids.lua
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[2], now, ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
local first = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', 1)
if first.err then return 0 end
local floor
if first[1] then
  floor = before(first[1][1])
else
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    if field(info, 'name') == ARGV[1] then floor = field(info, 'last-delivered-id') end
  end
end
redis.call('SET', KEYS[3], floor, 'PX', ARGV[5])
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[3], 'LIMIT', 0, 10)) do
  if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, member) == 0 then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], member)
    redis.call('ZREM', KEYS[2], member)
  end
end
return 1
