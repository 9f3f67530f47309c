-- Order by key. A key has a lane, and a message without one is a lane of its own. `lanes` has the original id of the message whose
-- turn it is: the only one of its lane that is in the retries, or waits for its next attempt. All others of the lane are in
-- `parked`, a sorted set of equal scores: lane, padded original id, packed fields. So they stand as the stream has them.
local function valueOf(fields, name)
  for i = 1, #fields, 2 do
    if fields[i] == name then return fields[i + 1] end
  end
end
local function laneOf(fields, originalId)
  local key = valueOf(fields, 'key')
  return redis.sha1hex(key and key ~= '' and 'key ' .. key or 'id ' .. originalId)
end
local function parkedName(lane, originalId)
  local ms, seq = string.match(originalId, '^(%d+)%-(%d+)$')
  return lane .. string.rep('0', 20 - #ms) .. ms .. string.rep('0', 20 - #seq) .. seq
end
-- All parked ones of a lane: what follows it is a digit.
local function rangeOf(lane) return '[' .. lane, '(' .. lane .. ':' end
local function parkedFields(member) return cmsgpack.unpack(string.sub(member, 81)) end
-- Gives a message its turn, or parks it. The fields have their notes.
local function enter(lanes, parked, retries, originalId, fields)
  local lane = laneOf(fields, originalId)
  if redis.call('HSETNX', lanes, lane, originalId) == 1 then
    redis.call('XADD', retries, '*', unpack(fields))
  else
    redis.call('ZADD', parked, 0, parkedName(lane, originalId) .. cmsgpack.pack(fields))
  end
end
-- Gives the next one of a lane its turn.
local function passOn(lanes, parked, retries, lane)
  local first, last = rangeOf(lane)
  local next = redis.call('ZRANGE', parked, first, last, 'BYLEX', 'LIMIT', 0, 1)[1]
  if not next then
    redis.call('HDEL', lanes, lane)
    return
  end
  local fields = parkedFields(next)
  redis.call('ZREM', parked, next)
  redis.call('HSET', lanes, lane, valueOf(fields, 'x-original-id'))
  redis.call('XADD', retries, '*', unpack(fields))
end
-- An entry of the retries is done. One whose turn it never was passes nothing on.
local function finish(lanes, parked, retries, id, fields)
  local originalId = valueOf(fields, 'x-original-id') or id
  local lane = laneOf(fields, originalId)
  if redis.call('HGET', lanes, lane) == originalId then passOn(lanes, parked, retries, lane) end
end
