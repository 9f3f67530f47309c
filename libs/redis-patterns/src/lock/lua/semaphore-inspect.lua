--- Tells how many permits are in use, by how many leases, and how many wait.
--- KEYS[1] leasesKey: string  '<permits>|<token>' -> end of the lease, server milliseconds
--- KEYS[2] queueKey: string  waiter -> ticket
--- RETURNS [used: number, holders: number, waiting: number]  permits in use, leases, waiters
--- EFFECT read
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local used, holders = 0, 0
-- Nothing is written, so the leases that have ended are still there.
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')) do
  used = used + tonumber(string.match(member, '^%d+'))
  holders = holders + 1
end
return { used, holders, redis.call('ZCARD', KEYS[2]) }
