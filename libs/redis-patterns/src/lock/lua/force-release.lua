--- Takes a lock from whoever holds it, and hands it over to who is next.
--- KEYS[1] lockKey: string  the lock
--- KEYS[2] fenceKey: string  last fence of this lock
--- KEYS[3] queueKey: string  waiter -> ticket
--- KEYS[4] aliveKey: string  waiter -> alive until, server milliseconds
--- ARGV[1] fenceTtlMs: number  how long the last fence is remembered at least, milliseconds
--- ARGV[2] wakePrefix: string  channel of a process, without its id
--- RETURNS 1 | 0  1 it was held, 0 it was free
--- EFFECT idempotent
--- @include lib/fence.lua
--- @include lib/queue.lua
--- @include lib/hand-over.lua
local lock, fenceKey, queue, alive = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local held = redis.call('DEL', lock)
if redis.call('EXISTS', queue) == 1 then
  handOver(lock, fenceKey, queue, alive, ARGV[1], true, ARGV[2])
end
return held
