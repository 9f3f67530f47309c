--- One sign of life of a reader: notes it among the members, removes members that are silent and have nothing pending, stores
--- how far the group has finished, and keeps what lies beside the stream from expiring.
--- KEYS[1] stream: string
--- KEYS[2] members: string      consumer -> server time until which it counts as alive, milliseconds
--- KEYS[3] floor: string        position below which the group has finished everything
--- KEYS[4...] kept: string      the retries, and what else expires when no member lives
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- ARGV[3] aliveMs: number      time after which a member that is silent no longer counts
--- ARGV[4] membersTtlMs: number
--- ARGV[5] ttlMs: number        of the rest
--- RETURNS 0 | 1  0 when the group is missing
--- EFFECT idempotent
--- @include lib/time.lua
--- @include lib/ids.lua
--- @include lib/reap.lua
--- @include lib/keep.lua
local now = nowMs()
for i = 4, #KEYS do keep(KEYS[i], ARGV[5]) end
redis.call('ZADD', KEYS[2], text(now + ARGV[3]), ARGV[2])
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
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', text(now), 'LIMIT', 0, 10)) do
  reap(KEYS[1], KEYS[4], KEYS[2], ARGV[1], member)
end
return 1
