--- Gives a lock back if the caller still holds it, takes it out of the queue, and wakes who is next. Also works when memory is full.
--- KEYS[1] lockKey: string  the lock
--- KEYS[2] queueKey: string  waiter -> ticket
--- KEYS[3] aliveKey: string  waiter -> alive until, server milliseconds
--- ARGV[1] token: string  token of the acquisition
--- ARGV[2] waiter: string  the same caller as a waiter, or ''
--- ARGV[3] wakePrefix: string  channel of a process, without its id
--- RETURNS 1 | 0 | -1  1 released, 0 somebody else holds it, -1 nobody does
--- EFFECT idempotent
--- @include lib/queue.lua
local call = redis.call
local lock, queue, alive = KEYS[1], KEYS[2], KEYS[3]
if ARGV[2] ~= '' then dequeue(queue, alive, ARGV[2]) end
local holder = call('GET', lock)
local mine = holder == ARGV[1]
if holder and not mine then return 0 end
if mine then call('DEL', lock) end
if call('EXISTS', queue) == 1 then
  local time = call('TIME')
  local head, left = liveHead(queue, alive, time[1] * 1000 + math.floor(time[2] / 1000))
  if left > 0 then wake(ARGV[3], head) end
end
return mine and 1 or -1
