--- Makes a reader of the writer, with a full lease, and wakes the readers that can join it.
--- KEYS[1] holdersKey: string  'r<token>' or 'w<token>' -> end of the lease, server milliseconds
--- KEYS[2] readersKey: string  waiting reader -> ticket
--- KEYS[3] writersKey: string  waiting writer -> ticket
--- KEYS[4] aliveKey: string  waiter -> alive until, server milliseconds
--- ARGV[1] token: string  token of the acquisition
--- ARGV[2] leaseMs: number  lease from now, milliseconds
--- ARGV[3] wakePrefix: string  channel of a process, without its id
--- RETURNS 1 | 0 | -1  1 it reads now, 0 somebody else holds the lock, -1 nobody does
--- EFFECT idempotent
--- @include lib/queue.lua
--- @include lib/sides.lua
local holders = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local side = sideOf(holders, now)
if not side then return -1 end
if redis.call('ZREM', holders, 'w' .. ARGV[1]) == 0 and not redis.call('ZSCORE', holders, 'r' .. ARGV[1]) then return 0 end
hold(holders, 'r' .. ARGV[1], now + ARGV[2])
wakeSides(KEYS[2], KEYS[3], KEYS[4], now, 'r', ARGV[3], 100)
return 1
