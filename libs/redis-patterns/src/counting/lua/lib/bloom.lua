-- The header tells how the filter was made, and which of its chunks have been created.
local function lost()
  -- Nothing at all: no filter yet. A chunk without a header, or the other way round, is one that has lost a part.
  return redis.call('EXISTS', unpack(KEYS, 2)) > 0
end
local bits, hashes, chunks, width = ARGV[1], ARGV[2], #KEYS - 1, ARGV[2] + 1
local header = redis.call('HMGET', KEYS[1], 'bits', 'hashes', 'chunks', 'expires', 'items')
if header[1] and (header[1] ~= bits or header[2] ~= hashes or header[3] ~= tostring(chunks)) then return { 'mismatch' } end
if not header[1] and lost() then return { 'lost' } end
local alive = {}
-- Whether a chunk has been created; nil when it has, and is gone.
local function created(n)
  if alive[n] == nil then
    alive[n] = header[1] and redis.call('HEXISTS', KEYS[1], 'chunk:' .. n) == 1 or false
    if alive[n] and redis.call('EXISTS', KEYS[2 + n]) == 0 then return nil end
  end
  return alive[n]
end
local function contains(i)
  local n = tonumber(ARGV[i])
  if not alive[n] then return false end
  for b = i + 1, i + width - 1 do
    if redis.call('GETBIT', KEYS[2 + n], ARGV[b]) == 0 then return false end
  end
  return true
end
