--- How many entries are newer than the last one that was read.
--- KEYS[1] feed: string  as push
--- KEYS[2] seen: string  as push
--- RETURNS number  all of them when none was read
--- EFFECT read
--- @include lib/id.lua
local seen = redis.call('GET', KEYS[2])
return redis.call('ZLEXCOUNT', KEYS[1], seen and '[' .. after(seen) or '-', '+')
