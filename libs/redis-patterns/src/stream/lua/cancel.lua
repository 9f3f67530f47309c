--- Takes back a delayed message that is not due yet.
--- KEYS[1] delayed: string
--- KEYS[2] delayedBody: string
--- ARGV[1] id: string
--- RETURNS 0 | 1  1 when it was taken back
--- EFFECT once
redis.call('HDEL', KEYS[2], ARGV[1])
return redis.call('ZREM', KEYS[1], ARGV[1])
