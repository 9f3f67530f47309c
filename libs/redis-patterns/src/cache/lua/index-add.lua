--- Notes which entry was stored under a tag, and forgets some whose time is over, so that the index does not grow for ever.
--- KEYS[1] indexKey: string      entries that were stored under one token of the tag, by the end of their life
--- ARGV[1] entryKey: string      the entry
--- ARGV[2] px: number            its time to live, milliseconds
--- RETURNS 1
--- EFFECT idempotent
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
local over = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now), 'LIMIT', 0, 100)
if #over > 0 then redis.call('ZREM', KEYS[1], unpack(over)) end
return 1
