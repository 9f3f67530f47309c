--- A page of a feed that may have to be loaded first.
--- KEYS[1] feed: string  as push
--- KEYS[2] loaded: string  as push
--- ARGV[1] before: string  the newest that is not wanted, '' for none
--- ARGV[2] size: number
--- RETURNS [loaded: 0 | 1, ...entries: string[]]  newest first
--- EFFECT read
local top = ARGV[1] == '' and '+' or '(' .. ARGV[1]
local reply = redis.call('ZRANGE', KEYS[1], top, '-', 'BYLEX', 'REV', 'LIMIT', 0, ARGV[2])
table.insert(reply, 1, redis.call('EXISTS', KEYS[2]))
return reply
