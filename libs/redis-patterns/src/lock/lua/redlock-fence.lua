--- Lets a node remember a fence that was granted by a quorum, unless it knows a higher one.
--- KEYS[1] fenceKey: string  last fence of this lock
--- ARGV[1] fence: string  the highest of the quorum
--- ARGV[2] fenceTtlMs: number  how long it is remembered, milliseconds
--- RETURNS 1 | 0  1 when it was the higher one
--- EFFECT idempotent
local known = tonumber(redis.call('GET', KEYS[1]) or 0)
if known >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
