--- Creates the group of a reader where it is missing, on the stream and on its retries. A group that existed before is put where
--- it stood: never at the end of the stream, and at its beginning when the stream itself was lost. What the reader still holds
--- is its own again, unless somebody else took it.
--- KEYS[1] stream: string
--- KEYS[2] retries: string
--- KEYS[3] floor: string        position below which the group had finished everything
--- ARGV[1] group: string
--- ARGV[2] startFrom: string    '$', or the id after which a new group begins
--- ARGV[3] consumer: string
--- ARGV[4] seen: string         highest id that the reader was given, or ''
--- ARGV[5] ttlMs: number        of the retries
--- ARGV[6] lowest: string       lowest id of the stream that the reader holds, or ''
--- ARGV[7] heldCount: number    how many of `held` are of the stream; the rest is of the retries
--- ARGV[8...] held: string      ids
--- RETURNS string  the position at which the group was created; '' when it was there
--- EFFECT idempotent
--- @include lib/ids.lua
local function exists(key)
  local groups = redis.pcall('XINFO', 'GROUPS', key)
  if groups.err then return false end
  for _, info in ipairs(groups) do
    if field(info, 'name') == ARGV[1] then return true end
  end
  return false
end
local function adopt(key, from, to)
  for i = from, to do
    if #redis.call('XPENDING', key, ARGV[1], ARGV[i], ARGV[i], 1) == 0 then
      redis.call('XCLAIM', key, ARGV[1], ARGV[3], 0, ARGV[i], 'FORCE', 'JUSTID')
    end
  end
end
local held = 7 + ARGV[7]
if not exists(KEYS[2]) then
  redis.call('XGROUP', 'CREATE', KEYS[2], ARGV[1], '0', 'MKSTREAM')
  adopt(KEYS[2], held + 1, #ARGV)
end
redis.call('PEXPIRE', KEYS[2], ARGV[5])
if exists(KEYS[1]) then return '' end
local last = '0-0'
if redis.call('EXISTS', KEYS[1]) == 1 then last = field(redis.call('XINFO', 'STREAM', KEYS[1]), 'last-generated-id') end
local stood = redis.call('GET', KEYS[3])
if not stood and ARGV[6] ~= '' then stood = before(ARGV[6]) end
if not stood and ARGV[4] ~= '' then stood = ARGV[4] end
local position = stood or ARGV[2]
if stood and (less(last, stood) or (ARGV[4] ~= '' and less(last, ARGV[4]))) then position = '0-0' end
if position == '$' then position = last end
redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], position, 'MKSTREAM')
adopt(KEYS[1], 8, held)
return position
