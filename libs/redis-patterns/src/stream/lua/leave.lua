--- Removes a consumer that has nothing pending.
--- KEYS[1] stream: string
--- KEYS[2] members: string
--- ARGV[1] group: string
--- ARGV[2] consumer: string
--- RETURNS 0 | 1  0 when it has entries pending, and stays until they are done elsewhere
--- EFFECT idempotent
if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) > 0 then return 0 end
redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZREM', KEYS[2], ARGV[2])
return 1
