--- Keeps the result of a run, unless another run has taken the key.
--- KEYS[1] record: string  the record
--- ARGV[1] token: string  of the run
--- ARGV[2] fingerprint: string  of the payload
--- ARGV[3] ttlMs: number  how long the result is replayed, milliseconds
--- ARGV[4] result: string  '' for one that was not kept
--- RETURNS 0 | 1  1 kept, 0 not the owner
--- EFFECT idempotent
local s, t = unpack(redis.call('HMGET', KEYS[1], 's', 't'))
-- No record: the lease is over and nobody took the key, so the work must not be done again.
if s and t ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 's', 'C', 'f', ARGV[2], 't', ARGV[1], 'r', ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
