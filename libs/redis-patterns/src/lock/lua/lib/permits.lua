-- One sorted set holds all of a semaphore, so that no part of it can be lost alone: '<permits>|<token>' with the end of the
-- lease in server milliseconds, and '' with the number of permits in use, which is below every time.
local FIRST_TIME = '(1000000'

local function permitsOf(member)
  return tonumber(string.match(member, '^%d+'))
end

-- How many permits are in use; those of ended leases are given back before.
local function permitsInUse(leases, now)
  local freed = 0
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', leases, FIRST_TIME, now)) do
    freed = freed + permitsOf(member)
    redis.call('ZREM', leases, member)
  end
  if freed > 0 then redis.call('ZINCRBY', leases, -freed, '') end
  return tonumber(redis.call('ZSCORE', leases, '') or 0)
end

-- The key lives as long as the lease that ends last.
local function expireWithLast(leases)
  redis.call('PEXPIREAT', leases, redis.call('ZRANGE', leases, -1, -1, 'WITHSCORES')[2])
end

-- Wakes the first waiter if there is room for it; its id ends with the permits that it wants.
local function wakeFirst(queue, alive, now, free, prefix)
  if free < 1 or redis.call('EXISTS', queue) == 0 then return end
  local head, left = liveHead(queue, alive, now)
  if left > 0 and tonumber(string.match(head, '%d+$')) <= free then wake(prefix, head) end
end
