-- What a reader must know of a pending entry, or false when the entry has been trimmed from the stream.
local function describe(stream, tries, id, deliveries)
  local found = redis.call('XRANGE', stream, id, id)[1]
  if not found then return false end
  return { id, deliveries, tonumber(redis.call('HGET', tries, id) or '0'), found[2] }
end
