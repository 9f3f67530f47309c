--- Gives up a load without storing.
--- KEYS[1] leaseKey: string      lease of the entry
--- ARGV[1] token: string         token of the load
--- RETURNS 0 | 1                 1 when the lease was still the caller's: nothing was evicted or put since the load began
--- EFFECT token
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1
