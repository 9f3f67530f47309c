--- Reads what is kept of a channel, from after an id on.
--- KEYS[1] channel: string
--- ARGV[1] after: string   id, exclusive
--- ARGV[2] count: number   most messages; 0: none
--- RETURNS [tail: string, nowMs: number, messages: [id: string, fields: string[]][]]  id of the last message ('0-0': there is none), server time
--- EFFECT read
local time = redis.call('TIME')
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local messages = {}
if last and ARGV[2] ~= '0' then messages = redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2]) end
return { last and last[1] or '0-0', time[1] * 1000 + math.floor(time[2] / 1000), messages }
