--- Reads a session by its handle.
--- KEYS[1] record: string  the session
--- ARGV[1] principal: string  whose it has to be
--- RETURNS null | [now: number, endsIn: number, fields: string[]]  null: there is none
--- EFFECT read
--- @include lib/clock.lua
local absolute, principal = unpack(call('HMGET', KEYS[1], '_a', '_u'))
if not absolute or tonumber(absolute) <= now or principal ~= ARGV[1] then return false end
return { now, call('PTTL', KEYS[1]), call('HGETALL', KEYS[1]) }
