-- max(last + 1, time in microseconds): still grows when the fence key was lost, and is exact in a double until 2255. As text,
-- because a number in a reply is cut to an integer and read as a double by clients.
local function nextFence(key, micros, ttlMs)
  local fence = string.format('%.0f', micros)
  local last = tonumber(redis.call('SET', key, fence, 'PX', ttlMs, 'GET') or 0) or 0
  if last >= micros then
    fence = string.format('%.0f', last + 1)
    redis.call('SET', key, fence, 'PX', ttlMs)
  end
  return fence
end
