--- Makes a lease of either side last at least one more lease, if it has not ended. Never shortens it and never creates it again.
--- KEYS[1] holdersKey: string  'r<token>' or 'w<token>' -> end of the lease, server milliseconds
--- ARGV[1] token: string  token of the acquisition
--- ARGV[2] leaseMs: number  lease from now, milliseconds
--- RETURNS 1 | 0 | -1  1 extended, 0 somebody else holds it, -1 nobody does
--- EFFECT idempotent
--- @include lib/queue.lua
--- @include lib/sides.lua
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local side = sideOf(KEYS[1], now)
if not side then return -1 end
local mine = side .. ARGV[1]
if not redis.call('ZSCORE', KEYS[1], mine) then return 0 end
hold(KEYS[1], mine, now + ARGV[2])
return 1
