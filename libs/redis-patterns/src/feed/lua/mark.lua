--- Remembers which entry was read last; never an older one than before.
--- KEYS[1] feed: string  as push
--- KEYS[2] seen: string  as push
--- ARGV[1] id: string  '' for the newest
--- ARGV[2] ttl: number  milliseconds, when there is no feed that it could expire with
--- RETURNS 0 | 1  1: it is another one now
--- EFFECT idempotent
local id = ARGV[1]
if id == '' then
  local newest = redis.call('ZRANGE', KEYS[1], '+', '-', 'BYLEX', 'REV', 'LIMIT', 0, 1)[1]
  if not newest then return 0 end
  id = string.sub(newest, 1, 26)
end
local seen = redis.call('GET', KEYS[2])
if seen and seen >= id then return 0 end
redis.call('SET', KEYS[2], id, 'PX', ARGV[2])
local expiresAt = redis.call('PEXPIRETIME', KEYS[1])
if expiresAt > 0 then redis.call('PEXPIREAT', KEYS[2], string.format('%.0f', expiresAt)) end
return 1
