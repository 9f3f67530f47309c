--- Has a consumer join its group, unless consumers with another ordering live in it. When none does, what waits in lanes is set free
--- where there are to be none any more.
--- KEYS[1] meta: string
--- KEYS[2] members: string      consumer -> server time until which it counts as alive, milliseconds
--- KEYS[3] retries: string
--- KEYS[4] lanes: string
--- KEYS[5] parked: string
--- ARGV[1] group: string
--- ARGV[2] ordering: 'none' | 'key'
--- ARGV[3] consumer: string
--- ARGV[4] aliveMs: number      time after which a member that is silent no longer counts
--- ARGV[5] membersTtlMs: number
--- ARGV[6] ttlMs: number        of the rest
--- ARGV[7] again: 0 | 1         1: it has joined before, and what was agreed on then may have been deleted since
--- RETURNS 0 | 1  0 when it may not join
--- EFFECT idempotent
--- @include lib/time.lua
--- @include lib/keep.lua
--- @include lib/lanes.lua
local now, ordering = nowMs(), 'order:' .. ARGV[1]
local agreed = redis.call('HGET', KEYS[1], ordering)
if (agreed or 'none') ~= ARGV[2] then
  -- Where nothing is written any more, all who live think what this one thinks.
  if agreed or ARGV[7] == '0' then
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], text(now), '+inf')) do
      if member ~= ARGV[3] then return 0 end
    end
  end
  if ARGV[2] == 'key' then
    redis.call('HSET', KEYS[1], ordering, 'key')
  else
    for _, member in ipairs(redis.call('ZRANGE', KEYS[5], 0, -1)) do
      redis.call('XADD', KEYS[3], '*', unpack(parkedFields(member)))
    end
    redis.call('UNLINK', KEYS[4], KEYS[5])
    redis.call('HDEL', KEYS[1], ordering)
  end
end
if ARGV[2] == 'key' then keep(KEYS[1], ARGV[6]) end
-- Refused when Redis is full: then the first sign of life that is not makes it a member.
redis.pcall('ZADD', KEYS[2], text(now + ARGV[4]), ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
return 1
