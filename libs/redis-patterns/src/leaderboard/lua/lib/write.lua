local counts = KEYS[5]
-- One text for one score, whichever version of Redis answers.
local function textOf(score)
  return string.format('%.17g', score)
end
-- `dense` counts distinct scores, so it must know when the last member with one has gone.
local function enter(score)
  local text = textOf(score)
  if redis.call('HINCRBY', counts, text, 1) == 1 then redis.call('ZADD', scores, text, text) end
end
local function leave(score)
  local text = textOf(score)
  if redis.call('HINCRBY', counts, text, -1) > 0 then return end
  redis.call('HDEL', counts, text)
  redis.call('ZREM', scores, text)
end
local function remove(entry, score)
  local member = memberOf(entry)
  redis.call('ZREM', board, entry)
  redis.call('HDEL', datas, member)
  if ties == 'first' then redis.call('HDEL', members, member) end
  if ties == 'dense' then leave(score) end
end
