--- Enters a session once more, now that it is there: who found none meanwhile may have removed its entry.
--- KEYS[1] index: string  handle -> end of the session, server milliseconds
--- KEYS[2] epoch: string  as enter
--- ARGV[1] handle: string  of the session
--- ARGV[2] absoluteMs: number  how long it lives at most, milliseconds
--- ARGV[3] epoch: string  what was read before
--- ARGV[4...] dead: string  handle and end of entries without a session (variadic, last)
--- RETURNS number  entries there are; 0: all sessions of the principal were ended meanwhile
--- EFFECT idempotent
--- @include lib/index.lua
for i = 4, #ARGV, 2 do
  if call('ZSCORE', KEYS[1], ARGV[i]) == ARGV[i + 1] then call('ZREM', KEYS[1], ARGV[i]) end
end
-- One more than before: who read the entry when there was no session does not take this one away.
local at = call('ZSCORE', KEYS[1], ARGV[1])
put(KEYS[1], ARGV[1], (at and tonumber(at) or now + tonumber(ARGV[2])) + 1)
if call('HGET', KEYS[2], 'id') ~= ARGV[3] then return 0 end
return call('ZCARD', KEYS[1])
