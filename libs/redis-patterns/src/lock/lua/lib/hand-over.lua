-- With less time than that a waiter would be late, and would lose its place.
local SHORTEST_HAND_OVER = 100

-- Gives a free lock to the first waiter that is alive, which learns it with its fence, and so needs not ask. The lock lasts as
-- long as the waiter is known to live, at most its own lease: one that is dead delays the others no longer than without.
local function handOver(lock, fenceKey, queue, alive, fenceTtlMs, atOnce, prefix)
  local time = redis.call('TIME')
  local micros = time[1] * 1000000 + time[2]
  local head, left = liveHead(queue, alive, math.floor(micros / 1000))
  if left <= 0 then return end
  local token, leaseMs = string.match(head, '^(.*)|(%d+)|[^|]*$')
  if not atOnce or not token or left < SHORTEST_HAND_OVER then return wake(prefix, head) end
  -- First what is allowed when memory is full: the rest of a script that has written is, too.
  dequeue(queue, alive, head)
  redis.call('SET', lock, token, 'PX', math.min(left, leaseMs))
  local ttl = math.max(fenceTtlMs, redis.call('PTTL', fenceKey))
  wake(prefix, head, nextFence(fenceKey, micros, ttl))
end
