-- The first waiter that is alive, and for how many milliseconds more; nil and 0 when nobody waits. Waiters without a heartbeat
-- are dead and taken out. When the first 200 are, it gives one of them and 0: the server is not blocked for a crowd.
local function liveHead(queue, alive, now)
  local head, left
  for _ = 1, 200 do
    head = redis.call('ZRANGE', queue, 0, 0)[1]
    if not head then return nil, 0 end
    left = (redis.call('ZSCORE', alive, head) or 0) - now
    if left > 0 then return head, left end
    redis.call('ZREM', queue, head)
    redis.call('ZREM', alive, head)
  end
  return head, 0
end

-- Puts a waiter at the end of the queue unless it stands there already, and says that it is alive. Both keys live equally
-- long: a queue without heartbeats would be a queue of the dead.
local function enqueue(queue, alive, waiter, aliveUntil)
  if not redis.call('ZSCORE', queue, waiter) then
    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0
    redis.call('ZADD', queue, last + 1, waiter)
  end
  redis.call('ZADD', alive, aliveUntil, waiter)
  redis.call('PEXPIRE', queue, 60000)
  redis.call('PEXPIRE', alive, 60000)
end

local function dequeue(queue, alive, waiter)
  redis.call('ZREM', queue, waiter)
  redis.call('ZREM', alive, waiter)
end

-- pcall: a user who may not publish must not lose what the script has done before; waiters come back by themselves.
local function wake(prefix, waiter, fence)
  redis.pcall('PUBLISH', prefix .. string.match(waiter, '^[^|]+'), fence and waiter .. ' ' .. fence or waiter)
end
