--- Ends a session by its handle.
--- KEYS[1] record: string  the session
--- ARGV[1] principal: string  only if it is theirs; '' for anybody's
--- RETURNS null | string  null: there is none; else its principal, '' for none
--- EFFECT idempotent
local hash, principal = unpack(redis.call('HMGET', KEYS[1], '_h', '_u'))
if not hash or (ARGV[1] ~= '' and principal ~= ARGV[1]) then return false end
redis.call('UNLINK', KEYS[1])
return principal or ''
