--- Gives a lock back if the caller still holds it, takes it out of the queue, and hands the lock over to who is next. Also works
--- when memory is full.
--- KEYS[1] lockKey: string  the lock
--- KEYS[2] fenceKey: string  last fence of this lock
--- KEYS[3] queueKey: string  waiter -> ticket
--- KEYS[4] aliveKey: string  waiter -> alive until, server milliseconds
--- ARGV[1] token: string  token of the acquisition
--- ARGV[2] waiter: string  the same caller as a waiter, or ''
--- ARGV[3] fenceTtlMs: number  how long the last fence is remembered at least, milliseconds
--- ARGV[4] fair: 1 | 0  whether who is next has it at once, or is only woken
--- ARGV[5] wakePrefix: string  channel of a process, without its id
--- RETURNS 1 | 0 | -1  1 released, 0 somebody else holds it, -1 nobody does
--- EFFECT idempotent
--- @include lib/fence.lua
--- @include lib/queue.lua
--- @include lib/hand-over.lua
local call = redis.call
local lock, fenceKey, queue, alive = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
if ARGV[2] ~= '' then dequeue(queue, alive, ARGV[2]) end
local holder = call('GET', lock)
local mine = holder == ARGV[1]
if holder and not mine then return 0 end
if mine then call('DEL', lock) end
if call('EXISTS', queue) == 1 then
  handOver(lock, fenceKey, queue, alive, ARGV[3], ARGV[4] == '1', ARGV[5])
end
return mine and 1 or -1
