--- Acknowledges entries that had failed before, and forgets their counts.
--- KEYS[1] stream: string
--- KEYS[2] tries: string    failed attempts by entry id
--- ARGV[1] group: string
--- ARGV[2...] ids: string
--- RETURNS number  how many were pending
--- EFFECT idempotent
local acknowledged = 0
for i = 2, #ARGV do
  acknowledged = acknowledged + redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
  redis.call('HDEL', KEYS[2], ARGV[i])
end
return acknowledged
