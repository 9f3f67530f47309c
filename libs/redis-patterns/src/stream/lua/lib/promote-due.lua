-- Appends what is due to a stream; answers how many, and the time until the next one (-1: none waits).
local function promoteDue(due, bodies, target, maxLen, limit, ttl)
  local now = nowMs()
  local ids = redis.call('ZRANGEBYSCORE', due, '-inf', text(now), 'LIMIT', 0, limit)
  for _, id in ipairs(ids) do
    local packed = redis.call('HGET', bodies, id)
    if packed then
      local fields = cmsgpack.unpack(packed)
      if maxLen == '0' then
        redis.call('XADD', target, '*', unpack(fields))
      else
        redis.call('XADD', target, 'MAXLEN', '~', maxLen, '*', unpack(fields))
      end
      redis.call('HDEL', bodies, id)
    end
    redis.call('ZREM', due, id)
  end
  if ttl and #ids > 0 then redis.call('PEXPIRE', target, ttl) end
  local next = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
  return #ids, next and math.max(0, next - now) or -1
end
