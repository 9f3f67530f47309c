--- Notes a failed attempt, so that the count survives the process.
--- KEYS[1] stream: string
--- KEYS[2] tries: string     failed attempts by entry id
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- ARGV[3] id: string
--- ARGV[4] failures: number  the count to set
--- ARGV[5] ttlMs: number     of the counts
--- RETURNS -1 | 1  -1 when the consumer does not hold the entry
--- EFFECT idempotent
--- @include lib/owner.lua
if not owned(KEYS[1], ARGV[1], ARGV[2], ARGV[3]) then return -1 end
redis.call('HSET', KEYS[2], ARGV[3], ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
return 1
