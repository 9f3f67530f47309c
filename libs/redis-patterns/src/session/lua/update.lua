--- Changes some fields of a live session; the others stay as they are, whoever wrote them.
--- KEYS[1] record: string  the session
--- ARGV[1] hash: string  of the secret that the caller has
--- ARGV[2] token: string  of this write, 8 characters
--- ARGV[3] ifVersion: string  the version that it has to have; '' for any
--- ARGV[4] maxBytes: number  most that all fields may have, names included
--- ARGV[5...] fields: string  name and new text of each; '' removes it (variadic, last)
--- RETURNS null | [state: 'conflict', version: number] | [state: 'large', bytes: number] | [state: 'ok', now: number, endsIn: number, fields: string[]]  null: there is none
--- EFFECT token
--- @include lib/valid.lua
local TOKEN, KEPT = 8, 8
if not valid then return false end
local key = KEYS[1]
local version, tokens = unpack(call('HMGET', key, '_v', '_w'))
tokens = tokens or ''
local done = false
for at = 1, #tokens, TOKEN do
  -- The reply to an earlier attempt was lost. As many writes of others may come between as tokens are kept.
  if string.sub(tokens, at, at + TOKEN - 1) == ARGV[2] then done = true end
end

if not done and ARGV[3] ~= '' and ARGV[3] ~= version then return { 'conflict', tonumber(version) } end
if not done and #ARGV > 4 then
  local bytes, patch = 0, {}
  for i = 5, #ARGV, 2 do
    patch[ARGV[i]] = true
    if ARGV[i + 1] ~= '' then bytes = bytes + #ARGV[i] + #ARGV[i + 1] end
  end
  local fields = call('HGETALL', key)
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 2) == 'd:' and not patch[fields[i]] then bytes = bytes + #fields[i] + #fields[i + 1] end
  end
  if bytes > tonumber(ARGV[4]) then return { 'large', bytes } end
  for i = 5, #ARGV, 2 do
    if ARGV[i + 1] == '' then
      call('HDEL', key, ARGV[i])
    else
      call('HSET', key, ARGV[i], ARGV[i + 1])
      if ARGV[i] == '_i' then idle = ARGV[i + 1] end
    end
  end
  call('HSET', key, '_v', version + 1, '_w', string.sub(ARGV[2] .. tokens, 1, TOKEN * KEPT))
end
call('PEXPIREAT', key, math.min(now + tonumber(idle), tonumber(absolute)))
return { 'ok', now, call('PTTL', key), call('HGETALL', key) }
