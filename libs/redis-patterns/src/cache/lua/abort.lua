--- Gives up a load without storing.
--- KEYS[1] leaseKey: string      lease of the entry
--- ARGV[1] token: string         token of the load
--- ARGV[2] backoffMs: number     for so long no refresh of the entry is tried; 0 for none
--- RETURNS 0 | 1                 1 when the lease was still the caller's: nothing was evicted or put since the load began
--- EFFECT token
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if tonumber(ARGV[2]) > 0 then
  redis.call('SET', KEYS[1], '~', 'PX', ARGV[2])
else
  redis.call('DEL', KEYS[1])
end
return 1
