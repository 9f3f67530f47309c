--- Drops all keys of one structure.
--- KEYS[1...] keys: string  its keys
--- ARGV[1] from: number  begin of the bucket that is meant to be the present one
--- ARGV[2] to: number  its end; 0: whatever the time is
--- RETURNS [state: 'moved', now: string] | [state: 'ok', dropped: number]  how many there were
--- EFFECT idempotent
--- @include lib/now.lua
return { 'ok', redis.call('UNLINK', unpack(KEYS)) }
