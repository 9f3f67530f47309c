-- What a reader must know of a pending entry, or false when the entry has been trimmed from the stream.
local function describe(stream, id, deliveries)
  local found = redis.call('XRANGE', stream, id, id)[1]
  if not found then return false end
  return { id, deliveries, found[2] }
end
