--- Stores a loaded entry, if no evict, put or other loader took the lease away since the load began.
--- KEYS[1] entryKey: string      the entry
--- KEYS[2] leaseKey: string      its lease
--- ARGV[1] token: string         token of the load
--- ARGV[2] entry: string         header and payload
--- ARGV[3] px: number            time to live, milliseconds
--- RETURNS 0 | 1                 1 when stored
--- EFFECT token
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
  -- The id in the header is unique: the very same text is our own first run, whose answer was lost.
  if redis.call('GET', KEYS[1]) == ARGV[2] then return 1 end
  return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('DEL', KEYS[2])
return 1
