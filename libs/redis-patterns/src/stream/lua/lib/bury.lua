--- @include time.lua
--- @include notes.lua
--- @include held-fields.lua
-- What `dead-letter.lua` says of itself.
local function bury()
  local found = heldFields(KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[8], 9)
  if type(found) == 'number' then return found end
  local fields, notes = split(found)
  for _, value in ipairs(cjson.decode(ARGV[7])) do fields[#fields + 1] = value end
  local now = nowMs()
  local times = { 'x-dlq-first-failed', notes['x-first-failed'] or text(now), 'x-dlq-at', text(now) }
  for _, value in ipairs(times) do fields[#fields + 1] = value end
  local added = redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*', unpack(fields))
  redis.call('XTRIM', KEYS[2], 'MINID', '~', text(now - ARGV[6]))
  redis.call('PEXPIRE', KEYS[2], ARGV[6])
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
  if ARGV[4] == '1' then redis.call('XDEL', KEYS[1], ARGV[3]) end
  return added, found
end
