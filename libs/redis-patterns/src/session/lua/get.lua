--- Reads a session, and begins its idle time anew.
--- KEYS[1] record: string  the session
--- ARGV[1] hash: string  of the secret that the caller has
--- ARGV[2] touches: 0 | 1  whether the idle time begins anew
--- RETURNS null | [now: number, endsIn: number, fields: string[]]  null: there is none, or the secret is not its own
--- EFFECT idempotent
--- @include lib/valid.lua
--- @include lib/touch.lua
if not valid then return false end
if ARGV[2] == '1' then touch(KEYS[1], tonumber(idle), tonumber(absolute)) end
return { now, call('PTTL', KEYS[1]), call('HGETALL', KEYS[1]) }
