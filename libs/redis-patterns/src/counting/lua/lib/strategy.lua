-- `auto` counts in both from the start, so that a count that grew too large for the set is known at once.
local strategy = ARGV[3]
local set, hll = redis.call('EXISTS', KEYS[1]) == 1, redis.call('EXISTS', KEYS[2]) == 1
-- What was counted in one way alone cannot be gone on with in another.
if strategy == 'set' and hll or strategy ~= 'set' and set and not hll then return { 'strategy' } end
local exact = strategy == 'set' or strategy == 'auto' and (set or not hll)
