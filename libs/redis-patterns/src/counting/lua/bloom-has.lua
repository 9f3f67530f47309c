--- Whether items are in a Bloom filter.
--- KEYS[1] header: string  as bloom-add
--- KEYS[2...] chunks: string  as bloom-add
--- ARGV[1] bits: string  as bloom-add
--- ARGV[2] hashes: string  as bloom-add
--- ARGV[3...] places: number  of each item its chunk, then its bits
--- RETURNS [state: 'mismatch'] | [state: 'lost'] | [state: 'ok', ...contained: (0 | 1)[]]
--- EFFECT read
--- @include lib/bloom.lua
local reply = { 'ok' }
for i = 3, #ARGV, width do
  if created(tonumber(ARGV[i])) == nil then return { 'lost' } end
  reply[#reply + 1] = contains(i) and 1 or 0
end
return reply
