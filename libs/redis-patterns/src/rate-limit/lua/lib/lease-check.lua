-- A sorted set of leases with the ms at which each ends; x is the id of the lease that is asked for.
local held = redis.pcall('ZCOUNT', k, '(' .. now, '+inf')
if type(held) == 'table' then
  -- The policy had another algorithm: it begins anew.
  if string.sub(held.err, 1, 9) ~= 'WRONGTYPE' then return held end
  dead[i], held = true, 0
end
local last = 0
if held > 0 then
  last = tonumber(redis.call('ZRANGE', k, 0, 0, 'REV', 'WITHSCORES')[2])
  reset = last - now
  -- The same request once more, as its reply was lost.
  if take and (tonumber(redis.call('ZSCORE', k, x) or 0)) > now then held = math.max(0, held - n) end
end
rem = L - held
if n > rem and n <= L then
  -- A hint: who holds it may renew it, or give it back before.
  local first = redis.call('ZRANGEBYSCORE', k, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', n - rem - 1, 1)
  wait = math.max(1, tonumber(first[2] or now) - now)
end
lives[i] = math.max(now + W, last)
