--- Frees the key of a run that failed, if it still owns it.
--- KEYS[1] record: string  the record
--- ARGV[1] token: string  of the run
--- RETURNS 0 | 1  1 freed, 0 not the owner
--- EFFECT idempotent
local s, t = unpack(redis.call('HMGET', KEYS[1], 's', 't'))
if s ~= 'P' or t ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
