--- Gives either side back, takes the caller out of the queue, and wakes who is next. Also works when memory is full.
--- KEYS[1] holdersKey: string  'r<token>' or 'w<token>' -> end of the lease, server milliseconds
--- KEYS[2] readersKey: string  waiting reader -> ticket
--- KEYS[3] writersKey: string  waiting writer -> ticket
--- KEYS[4] aliveKey: string  waiter -> alive until, server milliseconds
--- ARGV[1] token: string  token of the acquisition
--- ARGV[2] waiter: string  the same caller as a waiter, or ''
--- ARGV[3] wakePrefix: string  channel of a process, without its id
--- RETURNS 1 | 0 | -1  1 given back, 0 somebody else holds it, -1 nobody does
--- EFFECT idempotent
--- @include lib/queue.lua
--- @include lib/sides.lua
local call = redis.call
local holders, readers, writers, alive = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

if ARGV[2] ~= '' then
  dequeue(readers, alive, ARGV[2])
  call('ZREM', writers, ARGV[2])
end
local before = sideOf(holders, now)
local held = call('ZREM', holders, 'r' .. ARGV[1], 'w' .. ARGV[1])
local side = sideOf(holders, now)
wakeSides(readers, writers, alive, now, side, ARGV[3], 100)
if held > 0 then return 1 end
return before and 0 or -1
