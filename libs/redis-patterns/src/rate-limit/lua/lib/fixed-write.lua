if slots[i] == 'live' then
  redis.call('INCRBY', k, n)
else
  redis.call('SET', k, n, 'PX', left)
end
reply[i * 3 + 2] = left
