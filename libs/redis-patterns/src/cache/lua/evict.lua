--- Deletes an entry, and keeps running loads from storing theirs.
--- KEYS[1] entryKey: string      the entry
--- KEYS[2] leaseKey: string      its lease
--- ARGV[1] quarantineMs: number  for so long nothing is stored by loads that begin from now on; 0 for none
--- RETURNS 0 | 1                 1 when there was an entry
--- EFFECT idempotent
local existed = redis.call('DEL', KEYS[1])
if tonumber(ARGV[1]) > 0 then
  redis.call('SET', KEYS[2], '!', 'PX', ARGV[1])
else
  redis.call('DEL', KEYS[2])
end
return existed
