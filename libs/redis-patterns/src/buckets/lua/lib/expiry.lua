-- Needs bucketEnd (0 without a bucket) and ttl. All keys of one structure get this moment.
local expiresAt = (tonumber(bucketEnd) > 0 and bucketEnd or now) + ttl
if expiresAt <= now then
  return { 'expired' }
end
expiresAt = string.format('%.0f', expiresAt)
