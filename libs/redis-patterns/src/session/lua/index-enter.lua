--- Enters a session into the index of its principal, before the session is there.
--- KEYS[1] index: string  handle -> end of the session, server milliseconds
--- KEYS[2] epoch: string  hash: id, gone or another one after all sessions of the principal were ended; and the last turn
--- ARGV[1] handle: string  of the session
--- ARGV[2] absoluteMs: number  how long it lives at most, milliseconds
--- ARGV[3] epochMs: number  how long the epoch is remembered, milliseconds
--- RETURNS [epoch: string, turn: number, oldest: string[]]  turn: greater than those before; handle and end of the four that end first
--- EFFECT idempotent
--- @include lib/index.lua
prune(KEYS[1])
put(KEYS[1], ARGV[1], now + tonumber(ARGV[2]))
local epoch, last = unpack(call('HMGET', KEYS[2], 'id', 'turn'))
-- A text that nobody else can have: an epoch never comes back.
if not epoch then epoch = ARGV[1] end
-- Who comes later has a later turn, also within a millisecond and when the clock goes back.
local turn = math.max(now, (last or 0) + 1)
call('HSET', KEYS[2], 'id', epoch, 'turn', turn)
call('PEXPIRE', KEYS[2], ARGV[3])
return { epoch, turn, call('ZRANGE', KEYS[1], 0, 3, 'WITHSCORES') }
