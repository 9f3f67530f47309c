--- Creates a record that does not exist yet.
--- KEYS[1] record: string  the session
--- ARGV[1] hash: string  of its secret
--- ARGV[2] idleMs: number  milliseconds
--- ARGV[3] absoluteMs: number  milliseconds
--- ARGV[4] principal: string  '' for none
--- ARGV[5] turn: number  of the principal; 0 without one
--- ARGV[6...] fields: string  name and text of each (variadic, last)
--- RETURNS 0 | [now: number, endsIn: number, fields: string[]]  0: it is there already
--- EFFECT token
--- @include lib/clock.lua
local there = call('HGET', KEYS[1], '_h')
if there and there ~= ARGV[1] then return 0 end
-- Its own hash: the reply to an earlier attempt was lost.
if not there then
  local idle, absolute = tonumber(ARGV[2]), tonumber(ARGV[3])
  call('HSET', KEYS[1], '_h', ARGV[1], '_i', ARGV[2], '_a', now + absolute, '_c', now, '_v', 1)
  if ARGV[4] ~= '' then call('HSET', KEYS[1], '_u', ARGV[4], '_t', ARGV[5]) end
  for i = 6, #ARGV, 2 do
    call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
  call('PEXPIREAT', KEYS[1], now + math.min(idle, absolute))
end
return { now, call('PTTL', KEYS[1]), call('HGETALL', KEYS[1]) }
