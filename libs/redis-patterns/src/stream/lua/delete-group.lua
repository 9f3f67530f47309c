--- Deletes a group and everything that it kept, unless a member lives.
--- KEYS[1] stream: string
--- KEYS[2] meta: string
--- KEYS[3] members: string
--- KEYS[4...] kept: string  what else belongs to the group
--- ARGV[1] group: string
--- RETURNS -1 | 0 | 1  -1 when a member lives, 0 when there was no such group
--- EFFECT idempotent
--- @include lib/time.lua
if redis.call('ZCOUNT', KEYS[3], text(nowMs()), '+inf') > 0 then return -1 end
local destroyed = redis.pcall('XGROUP', 'DESTROY', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], 'group:' .. ARGV[1], 'order:' .. ARGV[1])
for i = 3, #KEYS do redis.call('UNLINK', KEYS[i]) end
return type(destroyed) == 'number' and destroyed or 0
