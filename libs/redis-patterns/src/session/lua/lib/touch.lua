-- Moves the end of a live record without writing to it, which works when memory is full. What Redis refuses because of its disk
-- or its replicas is no reason not to read.
local function moveEnd(key, at)
  local reply = redis.pcall('PEXPIREAT', key, at)
  if type(reply) == 'table' and reply.err and not string.find(reply.err, 'MISCONF') and not string.find(reply.err, 'NOREPLICAS') then
    error(reply)
  end
end

-- The idle time begins anew, but never beyond the absolute end. Only when a tenth of it is used: most reads write nothing.
local function touch(key, idleMs, absoluteEnd)
  local full = math.min(idleMs, absoluteEnd - now)
  if full - call('PTTL', key) >= idleMs / 10 then moveEnd(key, now + full) end
end
