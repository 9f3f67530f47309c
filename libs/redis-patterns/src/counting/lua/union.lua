--- How many ids there are in several buckets together.
--- KEYS[1...] keys: string  the sets of all buckets, then their HyperLogLogs
--- ARGV[1] from: number  begin of the bucket that is meant to be the present one, the last
--- ARGV[2] to: number  its end; 0: whatever the time is
--- ARGV[3] strategy: 'auto' | 'set' | 'hll'  in what is counted
--- ARGV[4] most: number  ids that are united here; more would hold up the server
--- RETURNS [state: 'moved', now: string] | [state: 'strategy'] | [state: 'large'] | [state: 'ok', exact: 0 | 1, value: number]  large: too many, and no estimate
--- EFFECT read
--- @include ../../buckets/lua/lib/now.lua
local strategy, half = ARGV[3], #KEYS / 2
local sets, hlls, ids, exact = {}, {}, 0, strategy ~= 'hll'
for i = 1, half do
  local set, hll = redis.call('SCARD', KEYS[i]), redis.call('EXISTS', KEYS[half + i]) == 1
  if strategy == 'set' and hll or strategy ~= 'set' and set > 0 and not hll then return { 'strategy' } end
  if set > 0 then sets[#sets + 1] = KEYS[i] end
  if hll then hlls[#hlls + 1] = KEYS[half + i] end
  if hll and set == 0 then exact = false end
  ids = ids + set
end
if not exact or ids > tonumber(ARGV[4]) and strategy ~= 'set' then
  return { 'ok', 0, #hlls > 0 and redis.call('PFCOUNT', unpack(hlls)) or 0 }
end
if ids > tonumber(ARGV[4]) then return { 'large' } end
return { 'ok', 1, #sets > 0 and #redis.call('SUNION', unpack(sets)) or 0 }
