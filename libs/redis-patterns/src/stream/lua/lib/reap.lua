-- Removes a consumer unless something is pending for it: with DELCONSUMER that would be lost.
local function reap(stream, retries, members, group, consumer)
  for _, key in ipairs({ stream, retries }) do
    local pending = redis.pcall('XPENDING', key, group, '-', '+', 1, consumer)
    if not pending.err and #pending > 0 then return 0 end
  end
  redis.pcall('XGROUP', 'DELCONSUMER', stream, group, consumer)
  redis.pcall('XGROUP', 'DELCONSUMER', retries, group, consumer)
  redis.call('ZREM', members, consumer)
  return 1
end
