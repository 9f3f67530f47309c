--- Takes a lock from whoever holds it, and wakes who is next.
--- KEYS[1] lockKey: string  the lock
--- KEYS[2] queueKey: string  waiter -> ticket
--- KEYS[3] aliveKey: string  waiter -> alive until, server milliseconds
--- ARGV[1] wakePrefix: string  channel of a process, without its id
--- RETURNS 1 | 0  1 it was held, 0 it was free
--- EFFECT idempotent
--- @include lib/queue.lua
local held = redis.call('DEL', KEYS[1])
if redis.call('EXISTS', KEYS[2]) == 1 then
  local time = redis.call('TIME')
  local head, left = liveHead(KEYS[2], KEYS[3], time[1] * 1000 + math.floor(time[2] / 1000))
  if left > 0 then wake(ARGV[1], head) end
end
return held
