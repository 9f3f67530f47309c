local desc, ties = ARGV[3] == 'desc', ARGV[4]
local board, members, datas, scores = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
-- How a member stands in the sorted set: with `first` behind the number of its turn, by which Redis orders equal scores.
local function entryOf(member)
  if ties ~= 'first' then return member end
  local digits = redis.call('HGET', members, member)
  return digits and digits .. member
end
local function memberOf(entry)
  return ties == 'first' and string.sub(entry, 17) or entry
end
local function positionOf(entry)
  return redis.call(desc and 'ZREVRANK' or 'ZRANK', board, entry)
end
-- Places count from 1.
local function rankOf(entry, score)
  if ties == 'first' then return positionOf(entry) + 1 end
  local key = ties == 'dense' and scores or board
  if desc then return redis.call('ZCOUNT', key, '(' .. score, '+inf') + 1 end
  return redis.call('ZCOUNT', key, '-inf', '(' .. score) + 1
end
