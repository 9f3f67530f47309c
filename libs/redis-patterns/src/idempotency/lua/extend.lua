--- Gives a run a whole lease from now, if it still owns the key.
--- KEYS[1] record: string  the record
--- ARGV[1] token: string  of the run
--- ARGV[2] leaseMs: number  milliseconds
--- RETURNS 0 | 1  1 extended, 0 not the owner
--- EFFECT idempotent
local s, t = unpack(redis.call('HMGET', KEYS[1], 's', 't'))
if s ~= 'P' or t ~= ARGV[1] then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
