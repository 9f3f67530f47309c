--- Enters a session into the index of its principal, before the session is there.
--- KEYS[1] index: string  handle -> end of the session, server milliseconds
--- KEYS[2] epoch: string  any text; gone or another one after all sessions of the principal were ended
--- ARGV[1] handle: string  of the session
--- ARGV[2] absoluteMs: number  how long it lives at most, milliseconds
--- ARGV[3] epochMs: number  how long the epoch is remembered, milliseconds
--- RETURNS [epoch: string, count: number, oldest: string[]]  entries there are; handle and end of the four that end first
--- EFFECT idempotent
--- @include lib/index.lua
prune(KEYS[1])
put(KEYS[1], ARGV[1], now + tonumber(ARGV[2]))
-- A text that nobody else can have: an epoch never comes back.
if not call('SET', KEYS[2], ARGV[1], 'PX', ARGV[3], 'NX') then call('PEXPIRE', KEYS[2], ARGV[3]) end
return { call('GET', KEYS[2]), call('ZCARD', KEYS[1]), call('ZRANGE', KEYS[1], 0, 3, 'WITHSCORES') }
