-- A write that a read makes by the way. What Redis refuses because of its disk or its replicas is no reason not to read.
local function byTheWay(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err and not string.find(reply.err, 'MISCONF') and not string.find(reply.err, 'NOREPLICAS') then
    error(reply)
  end
end
