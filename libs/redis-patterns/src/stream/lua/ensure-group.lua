--- Creates the group of a reader where it is missing. A group that existed before is put where it stood: never at the end
--- of the stream, and at its beginning when the stream itself was lost.
--- KEYS[1] stream: string
--- KEYS[2] floor: string        position below which the group had finished everything
--- ARGV[1] group: string
--- ARGV[2] startFrom: string    '$', or the id after which a new group begins
--- ARGV[3] held: string         lowest id that the reader holds, or ''
--- ARGV[4] seen: string         highest id that the reader was given, or ''
--- RETURNS string  the position at which the group was created; '' when it was there
--- EFFECT idempotent
--- @include lib/ids.lua
local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])
if not groups.err then
  for _, info in ipairs(groups) do
    if field(info, 'name') == ARGV[1] then return '' end
  end
end
local last = '0-0'
if redis.call('EXISTS', KEYS[1]) == 1 then last = field(redis.call('XINFO', 'STREAM', KEYS[1]), 'last-generated-id') end
local stood = redis.call('GET', KEYS[2])
if not stood and ARGV[3] ~= '' then stood = before(ARGV[3]) end
if not stood and ARGV[4] ~= '' then stood = ARGV[4] end
local position = stood or ARGV[2]
if stood and less(last, stood) then position = '0-0' end
if position == '$' then position = last end
redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], position, 'MKSTREAM')
return position
