--- How many ids there are, and whether one of them is.
--- KEYS[1] exact: string  as add
--- KEYS[2] estimate: string  as add
--- ARGV[1] from: number  begin of the bucket that is meant to be the present one
--- ARGV[2] to: number  its end; 0: whatever the time is
--- ARGV[3] strategy: 'auto' | 'set' | 'hll'  in what is counted
--- ARGV[4] id: string  '' to count
--- RETURNS [state: 'moved', now: string] | [state: 'strategy'] | [state: 'ok', exact: 0 | 1, value: number]  with an id the value is 1 when it was added
--- EFFECT read
--- @include ../../buckets/lua/lib/now.lua
--- @include lib/strategy.lua
if not exact then return { 'ok', 0, ARGV[4] == '' and redis.call('PFCOUNT', KEYS[2]) or 0 } end
if ARGV[4] ~= '' then return { 'ok', 1, redis.call('SISMEMBER', KEYS[1], ARGV[4]) } end
return { 'ok', 1, redis.call('SCARD', KEYS[1]) }
