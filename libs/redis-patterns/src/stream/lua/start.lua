--- Counts the start of an entry that was delivered before.
--- KEYS[1] source: string  the stream or the retries of the group
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- ARGV[3] id: string
--- ARGV[4] deliveries: number  the count to set
--- RETURNS -1 | 0 | 1  -1 when the consumer does not hold it, 0 when it was trimmed from the stream
--- EFFECT idempotent
--- @include lib/owner.lua
if not owned(KEYS[1], ARGV[1], ARGV[2], ARGV[3]) then return -1 end
return #redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'RETRYCOUNT', ARGV[4], 'JUSTID')
