--- @include owner.lua
-- The fields of an entry for a consumer that may move it: -1 when it may not, -2 when they must come from memory. From memory
-- nobody need hold the entry: it was trimmed from the stream, so that nobody else can ever run it.
local function heldFields(stream, group, consumer, id, fromMemory, first)
  local mine, somebodys = owned(stream, group, consumer, id)
  if fromMemory ~= '1' then
    if not mine then return -1 end
    local found = redis.call('XRANGE', stream, id, id)[1]
    if not found then return -2 end
    return found[2]
  end
  if somebodys and not mine then return -1 end
  local fields = {}
  for i = first, #ARGV do fields[#fields + 1] = ARGV[i] end
  return fields
end
