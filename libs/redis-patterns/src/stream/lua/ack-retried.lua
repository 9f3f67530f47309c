--- Acknowledges retries and deletes them: nobody else reads them.
--- KEYS[1] retries: string
--- ARGV[1] group: string
--- ARGV[2...] ids: string
--- RETURNS number  how many were pending
--- EFFECT idempotent
local acknowledged = 0
for i = 2, #ARGV do
  acknowledged = acknowledged + redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
  redis.call('XDEL', KEYS[1], ARGV[i])
end
return acknowledged
