--- Gives entries of an index whose time is not over, those that end first before the others.
--- KEYS[1] indexKey: string      entries that were stored under one token of a tag
--- ARGV[1] limit: number         how many at most
--- RETURNS string[]              their keys
--- EFFECT read
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return redis.call('ZRANGEBYSCORE', KEYS[1], string.format('(%.0f', now), '+inf', 'LIMIT', 0, ARGV[1])
