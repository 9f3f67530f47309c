--- @include clock.lua
local hash, previous, grace, absolute, idle = unpack(call('HMGET', KEYS[1], '_h', '_p', '_g', '_a', '_i'))
local alive = hash and tonumber(absolute) > now
local current = alive and hash == ARGV[1]
local valid = current or (alive and previous == ARGV[1] and tonumber(grace) > now)
