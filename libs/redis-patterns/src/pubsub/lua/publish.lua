--- Keeps a message of a channel and sends it to everybody who listens. The key is the channel.
--- KEYS[1] channel: string
--- ARGV[1] payload: string
--- ARGV[2] maxLen: number
--- ARGV[3] ttlMs: number
--- ARGV[4] command: 'PUBLISH' | 'SPUBLISH'
--- RETURNS string  id of the message
--- EFFECT once
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local previous = last and last[1] or '0-0'
local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', 'p', previous, 'd', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call(ARGV[4], KEYS[1], '>' .. previous .. '|' .. id .. '|' .. ARGV[1])
return id
