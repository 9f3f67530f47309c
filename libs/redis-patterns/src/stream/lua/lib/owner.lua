-- The pending record of an entry when `consumer` holds it; else false, and whether anybody holds it.
local function owned(stream, group, consumer, id)
  local record = redis.call('XPENDING', stream, group, id, id, 1)[1]
  if not record then return false, false end
  if record[2] ~= consumer then return false, true end
  return record, true
end
