if slots[i] == 'live' then
  redis.call('INCRBY', k, n)
else
  -- An end that is exact: a refund tells by it whether its charge was in this window.
  redis.call('SET', k, n, 'PXAT', now + left)
end
reply[i * 3 + 2] = left
