--- Takes scores, all of them or none.
--- KEYS[1] board: string  sorted set of members; with ties `first` each behind 16 digits
--- KEYS[2] members: string  hash from member to its digits, and under '' the last turn (ties `first`)
--- KEYS[3] datas: string  hash from member to its data
--- KEYS[4] scores: string  sorted set of the distinct scores (ties `dense`)
--- KEYS[5] counts: string  hash from score to how many have it (ties `dense`)
--- KEYS[6...] operation: string  what remembers the result, or none; then there is one entry
--- ARGV[1] from: number  begin of the bucket that is meant to be the present one
--- ARGV[2] to: number  its end; 0: whatever the time is
--- ARGV[3] order: 'desc' | 'asc'  what is better
--- ARGV[4] ties: 'competition' | 'first' | 'dense'  how equal scores are ranked
--- ARGV[5] bucketEnd: number  0 without buckets
--- ARGV[6] ttl: number  milliseconds
--- ARGV[7] update: 'best' | 'sum' | 'latest'  what becomes of an old score
--- ARGV[8] cap: number  most members, 0 for no limit
--- ARGV[9] operationTtl: number  how long the result is remembered, milliseconds
--- ARGV[10...] entries: string | number  member, score and data ('' for none) in turn; no member twice
--- RETURNS [state: 'moved', now: string] | [state: 'expired'] | [state: 'range'] | [state: 'ok', ...results: (string | number)[]]  changed (0, 1), score, rank of each; rank 0: not on the board
--- EFFECT once
if KEYS[6] then
  local known = redis.call('GET', KEYS[6])
  if known then
    local changed, score, rank = string.match(known, '^(%d) (%S*) (%d+)$')
    return { 'ok', tonumber(changed), score, tonumber(rank) }
  end
end
--- @include ../../buckets/lua/lib/now.lua
local bucketEnd, ttl = ARGV[5], ARGV[6]
--- @include ../../buckets/lua/lib/expiry.lua
--- @include lib/read.lua
--- @include lib/write.lua
local update, cap, limit = ARGV[7], tonumber(ARGV[8]), 9007199254740991
-- What all of them come to is known before the first is written.
local olds, news, changed = {}, {}, {}
for i = 10, #ARGV, 3 do
  local entry, score = entryOf(ARGV[i]), tonumber(ARGV[i + 1])
  local old = entry and tonumber(redis.call('ZSCORE', board, entry) or nil)
  if update == 'sum' then
    score = (old or 0) + score
    if math.abs(score) > limit then return { 'range' } end
  elseif update == 'best' and old and (desc and old > score or not desc and old < score) then
    score = old
  end
  olds[i], news[i] = old, score
end
for i = 10, #ARGV, 3 do
  local member, old, new = ARGV[i], olds[i], news[i]
  local data = ARGV[i + 2]
  changed[i] = old ~= new
  if old ~= new then
    local entry = member
    if ties == 'first' then
      if old then redis.call('ZREM', board, entryOf(member)) end
      local turn = redis.call('HINCRBY', members, '', 1)
      local digits = string.format('%016.0f', desc and limit - turn or turn)
      redis.call('HSET', members, member, digits)
      entry = digits .. member
    elseif ties == 'dense' then
      if old then leave(old) end
      enter(new)
    end
    redis.call('ZADD', board, textOf(new), entry)
  elseif data ~= '' and update ~= 'best' then
    -- The latest score, or a sum with nothing added, is taken although it is the same.
    changed[i] = redis.call('HGET', datas, member) ~= data
  end
  if data ~= '' and changed[i] then redis.call('HSET', datas, member, data) end
end
-- A cap that was made much smaller is reached bit by bit.
local excess = cap > 0 and math.min(redis.call('ZCARD', board) - cap, 1000) or 0
if excess > 0 then
  local worst = redis.call(desc and 'ZRANGE' or 'ZREVRANGE', board, 0, excess - 1, 'WITHSCORES')
  for i = 1, #worst, 2 do remove(worst[i], worst[i + 1]) end
end
for i = 1, 5 do redis.call('PEXPIREAT', KEYS[i], expiresAt) end
local reply = { 'ok' }
for i = 10, #ARGV, 3 do
  local entry = entryOf(ARGV[i])
  local score = entry and redis.call('ZSCORE', board, entry)
  reply[#reply + 1] = changed[i] and (score or olds[i]) and 1 or 0
  reply[#reply + 1] = score or ''
  reply[#reply + 1] = score and rankOf(entry, score) or 0
end
if KEYS[6] then redis.call('SET', KEYS[6], table.concat(reply, ' ', 2), 'PX', ARGV[9]) end
return reply
