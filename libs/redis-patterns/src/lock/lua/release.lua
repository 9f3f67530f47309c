--- Gives a lock back, if the caller still holds it.
--- KEYS[1] lockKey: string  the lock
--- ARGV[1] token: string  token of the acquisition
--- RETURNS 1 | 0 | -1  1 released, 0 somebody else holds it, -1 nobody does
--- EFFECT idempotent
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return holder and 0 or -1
