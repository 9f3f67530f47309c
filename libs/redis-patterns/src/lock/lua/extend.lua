--- Makes a lock last at least one more lease, if the caller still holds it. Never shortens it and never creates it again.
--- KEYS[1] lockKey: string  the lock
--- ARGV[1] token: string  token of the acquisition
--- ARGV[2] leaseMs: number  lease from now, milliseconds
--- RETURNS 1 | 0 | -1  1 extended, 0 somebody else holds it, -1 nobody does
--- EFFECT idempotent
local holder = redis.call('GET', KEYS[1])
if not holder then
  return -1
end
if holder ~= ARGV[1] then
  return 0
end
-- GT, so that a request that was late on its way cannot take back what a later one has given.
redis.call('PEXPIRE', KEYS[1], ARGV[2], 'GT')
return 1
