--- Makes a lease of permits last at least one more lease, if it has not ended. Never shortens it and never creates it again.
--- KEYS[1] leasesKey: string  '<permits>|<token>' -> end of the lease, server milliseconds
--- ARGV[1] token: string  token of the acquisition
--- ARGV[2] leaseMs: number  lease from now, milliseconds
--- ARGV[3] permits: number  how many it holds
--- RETURNS 1 | -1  1 extended, -1 it has ended
--- EFFECT idempotent
--- @include lib/permits.lua
local mine = ARGV[3] .. '|' .. ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ends = redis.call('ZSCORE', KEYS[1], mine)
if not ends or tonumber(ends) <= now then return -1 end
redis.call('ZADD', KEYS[1], 'XX', 'GT', now + ARGV[2], mine)
expireWithLast(KEYS[1])
return 1
