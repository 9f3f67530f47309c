--- Adds items to a Bloom filter, all of them or none.
--- KEYS[1] header: string  hash: bits and hashes, chunks, expires (ms), items, and chunk:<n> of each that was created
--- KEYS[2...] chunks: string  bitmaps
--- ARGV[1] bits: string  of one chunk
--- ARGV[2] hashes: string  bits that an item sets
--- ARGV[3] ttl: number  milliseconds from the creation on
--- ARGV[4] most: number  items that it takes, 0 for any number
--- ARGV[5...] places: number  of each item its chunk, then its bits
--- RETURNS [state: 'mismatch'] | [state: 'lost'] | [state: 'full'] | [state: 'ok', items: number, ...added: (0 | 1)[]]  added: 1 for an item that was not in it
--- EFFECT idempotent
--- @include lib/bloom.lua
--- @include ../../buckets/lua/lib/time.lua
local expires = header[4] or string.format('%.0f', now + ARGV[3])
local items, most, fresh = tonumber(header[5] or 0), tonumber(ARGV[4]), 0
for i = 5, #ARGV, width do
  if created(tonumber(ARGV[i])) == nil then return { 'lost' } end
  if most > 0 and not contains(i) then fresh = fresh + 1 end
end
if most > 0 and items + fresh > most and fresh > 0 then return { 'full' } end
if not header[1] then
  redis.call('HSET', KEYS[1], 'bits', bits, 'hashes', hashes, 'chunks', chunks, 'expires', expires)
  redis.call('PEXPIREAT', KEYS[1], expires)
end
local reply = { 'ok', 0 }
for i = 5, #ARGV, width do
  local n = tonumber(ARGV[i])
  local chunk, added = KEYS[2 + n], 0
  if not alive[n] then
    -- All of it at once: Redis would make room for twice as much each time that it grows.
    redis.call('SETBIT', chunk, bits - 1, 0)
    redis.call('PEXPIREAT', chunk, expires)
    redis.call('HSET', KEYS[1], 'chunk:' .. n, 1)
    alive[n] = true
  end
  for b = i + 1, i + width - 1 do
    if redis.call('SETBIT', chunk, ARGV[b], 1) == 0 then added = 1 end
  end
  items = items + added
  reply[#reply + 1] = added
end
redis.call('HSET', KEYS[1], 'items', string.format('%.0f', items))
reply[2] = items
return reply
