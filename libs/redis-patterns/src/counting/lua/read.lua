--- Counts of one counter or of several buckets.
--- KEYS[1...] counters: string  at most 400
--- ARGV[1] from: number  begin of the bucket that is meant to be the present one, the last
--- ARGV[2] to: number  its end; 0: whatever the time is
--- RETURNS [state: 'moved', now: string] | [state: 'ok', ...counts: (string | null)[]]
--- EFFECT read
--- @include ../../buckets/lua/lib/now.lua
return { 'ok', unpack(redis.call('MGET', unpack(KEYS))) }
