--- Extends the lease of a load that is still running.
--- KEYS[1] leaseKey: string      lease of the entry
--- ARGV[1] token: string         token of the load
--- ARGV[2] leaseMs: number       the lease from now on, milliseconds
--- RETURNS 0 | 1                 0 when the lease is lost
--- EFFECT idempotent
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
