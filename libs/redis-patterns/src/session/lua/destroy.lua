--- Ends a session for who has its secret.
--- KEYS[1] record: string  the session
--- ARGV[1] hash: string  of the secret that the caller has
--- RETURNS null | string  null: there is none; else its principal, '' for none
--- EFFECT idempotent
--- @include lib/valid.lua
if not valid then return false end
local principal = call('HGET', KEYS[1], '_u')
call('UNLINK', KEYS[1])
return principal or ''
