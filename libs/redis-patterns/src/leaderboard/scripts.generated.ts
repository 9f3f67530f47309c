// Generated from lua/*.lua by `npm run lua`; do not edit.
import type { Script } from '../scripting/index.js';

/**
 * Where members stand, as it is at one moment.
 *
 * - `KEYS[1]` board: as submit
 * - `KEYS[2]` members: as submit
 * - `KEYS[3]` datas: as submit
 * - `KEYS[4]` scores: as submit
 * - `ARGV[1]` from: begin of the bucket that is meant to be the present one
 * - `ARGV[2]` to: its end; 0: whatever the time is
 * - `ARGV[3]` order: what is better
 * - `ARGV[4]` ties: how equal scores are ranked
 * - `ARGV[5...]` names: members
 * - returns position, score, rank, data or null of each; position -1: not on the board
 */
export const ranksScript: Script<[board: string, members: string, datas: string, scores: string], [from: number, to: number, order: 'desc' | 'asc', ties: 'competition' | 'first' | 'dense', ...names: string[]], [state: 'moved', now: string] | [state: 'ok', total: number, ...entries: (string | number | null)[]]> = {
  name: 'leaderboard.ranks',
  sha: 'b7dd1b43f4f96383d32d66136cafb6fbd87be30c',
  effect: 'read',
  lua: [
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local from, to = tonumber(ARGV[1]), tonumber(ARGV[2])",
    "if to > 0 and (now < from or now >= to) then",
    "  return { 'moved', string.format('%.0f', now) }",
    "end",
    "local desc, ties = ARGV[3] == 'desc', ARGV[4]",
    "local board, members, datas, scores = KEYS[1], KEYS[2], KEYS[3], KEYS[4]",
    "local function entryOf(member)",
    "  if ties ~= 'first' then return member end",
    "  local digits = redis.call('HGET', members, member)",
    "  return digits and digits .. member",
    "end",
    "local function memberOf(entry)",
    "  return ties == 'first' and string.sub(entry, 17) or entry",
    "end",
    "local function positionOf(entry)",
    "  return redis.call(desc and 'ZREVRANK' or 'ZRANK', board, entry)",
    "end",
    "local function rankOf(entry, score)",
    "  if ties == 'first' then return positionOf(entry) + 1 end",
    "  local key = ties == 'dense' and scores or board",
    "  if desc then return redis.call('ZCOUNT', key, '(' .. score, '+inf') + 1 end",
    "  return redis.call('ZCOUNT', key, '-inf', '(' .. score) + 1",
    "end",
    "local reply = { 'ok', redis.call('ZCARD', board) }",
    "for i = 5, #ARGV do",
    "  local entry = entryOf(ARGV[i])",
    "  local position = entry and positionOf(entry)",
    "  local score = position and redis.call('ZSCORE', board, entry)",
    "  local n = #reply",
    "  if score then",
    "    reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] =",
    "      position, score, rankOf(entry, score), redis.call('HGET', datas, ARGV[i])",
    "  else",
    "    reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = -1, '', 0, false",
    "  end",
    "end",
    "return reply",
  ].join('\n'),
};

/**
 * Takes members off the board, with all that is kept of them.
 *
 * - `KEYS[1]` board: as submit
 * - `KEYS[2]` members: as submit
 * - `KEYS[3]` datas: as submit
 * - `KEYS[4]` scores: as submit
 * - `KEYS[5]` counts: as submit
 * - `ARGV[1]` from: begin of the bucket that is meant to be the present one
 * - `ARGV[2]` to: its end; 0: whatever the time is
 * - `ARGV[3]` order: what is better
 * - `ARGV[4]` ties: how equal scores are ranked
 * - `ARGV[5...]` names: members
 * - returns how many were on it
 */
export const removeScript: Script<[board: string, members: string, datas: string, scores: string, counts: string], [from: number, to: number, order: 'desc' | 'asc', ties: 'competition' | 'first' | 'dense', ...names: string[]], [state: 'moved', now: string] | [state: 'ok', removed: number]> = {
  name: 'leaderboard.remove',
  sha: '1281a79b54a05f1a1e4e50b0362bc47866fef3da',
  effect: 'idempotent',
  lua: [
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local from, to = tonumber(ARGV[1]), tonumber(ARGV[2])",
    "if to > 0 and (now < from or now >= to) then",
    "  return { 'moved', string.format('%.0f', now) }",
    "end",
    "local desc, ties = ARGV[3] == 'desc', ARGV[4]",
    "local board, members, datas, scores = KEYS[1], KEYS[2], KEYS[3], KEYS[4]",
    "local function entryOf(member)",
    "  if ties ~= 'first' then return member end",
    "  local digits = redis.call('HGET', members, member)",
    "  return digits and digits .. member",
    "end",
    "local function memberOf(entry)",
    "  return ties == 'first' and string.sub(entry, 17) or entry",
    "end",
    "local function positionOf(entry)",
    "  return redis.call(desc and 'ZREVRANK' or 'ZRANK', board, entry)",
    "end",
    "local function rankOf(entry, score)",
    "  if ties == 'first' then return positionOf(entry) + 1 end",
    "  local key = ties == 'dense' and scores or board",
    "  if desc then return redis.call('ZCOUNT', key, '(' .. score, '+inf') + 1 end",
    "  return redis.call('ZCOUNT', key, '-inf', '(' .. score) + 1",
    "end",
    "local counts = KEYS[5]",
    "local function textOf(score)",
    "  return string.format('%.17g', score)",
    "end",
    "local function enter(score)",
    "  local text = textOf(score)",
    "  if redis.call('HINCRBY', counts, text, 1) == 1 then redis.call('ZADD', scores, text, text) end",
    "end",
    "local function leave(score)",
    "  local text = textOf(score)",
    "  if redis.call('HINCRBY', counts, text, -1) > 0 then return end",
    "  redis.call('HDEL', counts, text)",
    "  redis.call('ZREM', scores, text)",
    "end",
    "local function remove(entry, score)",
    "  local member = memberOf(entry)",
    "  redis.call('ZREM', board, entry)",
    "  redis.call('HDEL', datas, member)",
    "  if ties == 'first' then redis.call('HDEL', members, member) end",
    "  if ties == 'dense' then leave(score) end",
    "end",
    "local removed = 0",
    "for i = 5, #ARGV do",
    "  local entry = entryOf(ARGV[i])",
    "  local score = entry and redis.call('ZSCORE', board, entry)",
    "  if score then",
    "    remove(entry, score)",
    "    removed = removed + 1",
    "  end",
    "end",
    "if redis.call('EXISTS', board) == 0 then redis.call('DEL', members) end",
    "return { 'ok', removed }",
  ].join('\n'),
};

/**
 * A part of the board, with ranks and data, as it is at one moment.
 *
 * - `KEYS[1]` board: as submit
 * - `KEYS[2]` members: as submit
 * - `KEYS[3]` datas: as submit
 * - `KEYS[4]` scores: as submit
 * - `ARGV[1]` from: begin of the bucket that is meant to be the present one
 * - `ARGV[2]` to: its end; 0: whatever the time is
 * - `ARGV[3]` order: what is better
 * - `ARGV[4]` ties: how equal scores are ranked
 * - `ARGV[5]` offset: of the first one
 * - `ARGV[6]` size: how many
 * - `ARGV[7]` member: '' or: the part with it in the middle, as full as it can be
 * - returns member, score, rank, data or null of each
 */
export const sliceScript: Script<[board: string, members: string, datas: string, scores: string], [from: number, to: number, order: 'desc' | 'asc', ties: 'competition' | 'first' | 'dense', offset: number, size: number, member: string], [state: 'moved', now: string] | [state: 'ok', ...entries: (string | number | null)[]]> = {
  name: 'leaderboard.slice',
  sha: 'cf229f5231e665ef7e57c72b71832781093449b2',
  effect: 'read',
  lua: [
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local from, to = tonumber(ARGV[1]), tonumber(ARGV[2])",
    "if to > 0 and (now < from or now >= to) then",
    "  return { 'moved', string.format('%.0f', now) }",
    "end",
    "local desc, ties = ARGV[3] == 'desc', ARGV[4]",
    "local board, members, datas, scores = KEYS[1], KEYS[2], KEYS[3], KEYS[4]",
    "local function entryOf(member)",
    "  if ties ~= 'first' then return member end",
    "  local digits = redis.call('HGET', members, member)",
    "  return digits and digits .. member",
    "end",
    "local function memberOf(entry)",
    "  return ties == 'first' and string.sub(entry, 17) or entry",
    "end",
    "local function positionOf(entry)",
    "  return redis.call(desc and 'ZREVRANK' or 'ZRANK', board, entry)",
    "end",
    "local function rankOf(entry, score)",
    "  if ties == 'first' then return positionOf(entry) + 1 end",
    "  local key = ties == 'dense' and scores or board",
    "  if desc then return redis.call('ZCOUNT', key, '(' .. score, '+inf') + 1 end",
    "  return redis.call('ZCOUNT', key, '-inf', '(' .. score) + 1",
    "end",
    "local start, size = tonumber(ARGV[5]), tonumber(ARGV[6])",
    "if ARGV[7] ~= '' then",
    "  local entry = entryOf(ARGV[7])",
    "  local position = entry and positionOf(entry)",
    "  if not position then return { 'ok' } end",
    "  start = math.max(0, math.min(position - math.floor(size / 2), redis.call('ZCARD', board) - size))",
    "end",
    "local found = redis.call(desc and 'ZREVRANGE' or 'ZRANGE', board, start, start + size - 1, 'WITHSCORES')",
    "if #found == 0 then return { 'ok' } end",
    "local names = {}",
    "for i = 1, #found, 2 do names[#names + 1] = memberOf(found[i]) end",
    "local data = redis.call('HMGET', datas, unpack(names))",
    "local rank, reply = rankOf(found[1], found[2]), { 'ok' }",
    "for n = 1, #names do",
    "  local score = found[2 * n]",
    "  if n > 1 and (ties == 'first' or score ~= found[2 * n - 2]) then rank = ties == 'dense' and rank + 1 or start + n end",
    "  reply[4 * n - 2], reply[4 * n - 1], reply[4 * n], reply[4 * n + 1] = names[n], score, rank, data[n]",
    "end",
    "return reply",
  ].join('\n'),
};

/**
 * Takes scores, all of them or none.
 *
 * - `KEYS[1]` board: sorted set of members; with ties `first` each behind 16 digits
 * - `KEYS[2]` members: hash from member to its digits, and under '' the last turn (ties `first`)
 * - `KEYS[3]` datas: hash from member to its data
 * - `KEYS[4]` scores: sorted set of the distinct scores (ties `dense`)
 * - `KEYS[5]` counts: hash from score to how many have it (ties `dense`)
 * - `KEYS[6...]` operation: what remembers the result, or none; then there is one entry
 * - `ARGV[1]` from: begin of the bucket that is meant to be the present one
 * - `ARGV[2]` to: its end; 0: whatever the time is
 * - `ARGV[3]` order: what is better
 * - `ARGV[4]` ties: how equal scores are ranked
 * - `ARGV[5]` bucketEnd: 0 without buckets
 * - `ARGV[6]` ttl: milliseconds
 * - `ARGV[7]` update: what becomes of an old score
 * - `ARGV[8]` cap: most members, 0 for no limit
 * - `ARGV[9]` operationTtl: how long the result is remembered, milliseconds
 * - `ARGV[10...]` entries: member, score and data ('' for none) in turn; no member twice
 * - returns changed (0, 1), score, rank of each; rank 0: not on the board
 */
export const submitScript: Script<[board: string, members: string, datas: string, scores: string, counts: string, ...operation: string[]], [from: number, to: number, order: 'desc' | 'asc', ties: 'competition' | 'first' | 'dense', bucketEnd: number, ttl: number, update: 'best' | 'sum' | 'latest', cap: number, operationTtl: number, ...entries: (string | number)[]], [state: 'moved', now: string] | [state: 'expired'] | [state: 'range'] | [state: 'ok', ...results: (string | number)[]]> = {
  name: 'leaderboard.submit',
  sha: 'eacbe78bc8a7f6aeb90711407a426a2314d90254',
  effect: 'once',
  lua: [
    "if KEYS[6] then",
    "  local known = redis.call('GET', KEYS[6])",
    "  if known then",
    "    local changed, score, rank = string.match(known, '^(%d) (%S*) (%d+)$')",
    "    return { 'ok', tonumber(changed), score, tonumber(rank) }",
    "  end",
    "end",
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local from, to = tonumber(ARGV[1]), tonumber(ARGV[2])",
    "if to > 0 and (now < from or now >= to) then",
    "  return { 'moved', string.format('%.0f', now) }",
    "end",
    "local bucketEnd, ttl = ARGV[5], ARGV[6]",
    "local expiresAt = (tonumber(bucketEnd) > 0 and bucketEnd or now) + ttl",
    "if expiresAt <= now then",
    "  return { 'expired' }",
    "end",
    "expiresAt = string.format('%.0f', expiresAt)",
    "local desc, ties = ARGV[3] == 'desc', ARGV[4]",
    "local board, members, datas, scores = KEYS[1], KEYS[2], KEYS[3], KEYS[4]",
    "local function entryOf(member)",
    "  if ties ~= 'first' then return member end",
    "  local digits = redis.call('HGET', members, member)",
    "  return digits and digits .. member",
    "end",
    "local function memberOf(entry)",
    "  return ties == 'first' and string.sub(entry, 17) or entry",
    "end",
    "local function positionOf(entry)",
    "  return redis.call(desc and 'ZREVRANK' or 'ZRANK', board, entry)",
    "end",
    "local function rankOf(entry, score)",
    "  if ties == 'first' then return positionOf(entry) + 1 end",
    "  local key = ties == 'dense' and scores or board",
    "  if desc then return redis.call('ZCOUNT', key, '(' .. score, '+inf') + 1 end",
    "  return redis.call('ZCOUNT', key, '-inf', '(' .. score) + 1",
    "end",
    "local counts = KEYS[5]",
    "local function textOf(score)",
    "  return string.format('%.17g', score)",
    "end",
    "local function enter(score)",
    "  local text = textOf(score)",
    "  if redis.call('HINCRBY', counts, text, 1) == 1 then redis.call('ZADD', scores, text, text) end",
    "end",
    "local function leave(score)",
    "  local text = textOf(score)",
    "  if redis.call('HINCRBY', counts, text, -1) > 0 then return end",
    "  redis.call('HDEL', counts, text)",
    "  redis.call('ZREM', scores, text)",
    "end",
    "local function remove(entry, score)",
    "  local member = memberOf(entry)",
    "  redis.call('ZREM', board, entry)",
    "  redis.call('HDEL', datas, member)",
    "  if ties == 'first' then redis.call('HDEL', members, member) end",
    "  if ties == 'dense' then leave(score) end",
    "end",
    "local update, cap, limit = ARGV[7], tonumber(ARGV[8]), 9007199254740991",
    "local olds, news, changed = {}, {}, {}",
    "for i = 10, #ARGV, 3 do",
    "  local entry, score = entryOf(ARGV[i]), tonumber(ARGV[i + 1])",
    "  local old = entry and tonumber(redis.call('ZSCORE', board, entry) or nil)",
    "  if update == 'sum' then",
    "    score = (old or 0) + score",
    "    if math.abs(score) > limit then return { 'range' } end",
    "  elseif update == 'best' and old and (desc and old > score or not desc and old < score) then",
    "    score = old",
    "  end",
    "  olds[i], news[i] = old, score",
    "end",
    "for i = 10, #ARGV, 3 do",
    "  local member, old, new = ARGV[i], olds[i], news[i]",
    "  local data = ARGV[i + 2]",
    "  changed[i] = old ~= new",
    "  if old ~= new then",
    "    local entry = member",
    "    if ties == 'first' then",
    "      if old then redis.call('ZREM', board, entryOf(member)) end",
    "      local turn = redis.call('HINCRBY', members, '', 1)",
    "      local digits = string.format('%016.0f', desc and limit - turn or turn)",
    "      redis.call('HSET', members, member, digits)",
    "      entry = digits .. member",
    "    elseif ties == 'dense' then",
    "      if old then leave(old) end",
    "      enter(new)",
    "    end",
    "    redis.call('ZADD', board, textOf(new), entry)",
    "  elseif data ~= '' and update ~= 'best' then",
    "    changed[i] = redis.call('HGET', datas, member) ~= data",
    "  end",
    "  if data ~= '' and changed[i] then redis.call('HSET', datas, member, data) end",
    "end",
    "local excess = cap > 0 and math.min(redis.call('ZCARD', board) - cap, 1000) or 0",
    "if excess > 0 then",
    "  local worst = redis.call(desc and 'ZRANGE' or 'ZREVRANGE', board, 0, excess - 1, 'WITHSCORES')",
    "  for i = 1, #worst, 2 do remove(worst[i], worst[i + 1]) end",
    "end",
    "for i = 1, 5 do redis.call('PEXPIREAT', KEYS[i], expiresAt) end",
    "local reply = { 'ok' }",
    "for i = 10, #ARGV, 3 do",
    "  local entry = entryOf(ARGV[i])",
    "  local score = entry and redis.call('ZSCORE', board, entry)",
    "  reply[#reply + 1] = changed[i] and (score or olds[i]) and 1 or 0",
    "  reply[#reply + 1] = score or ''",
    "  reply[#reply + 1] = score and rankOf(entry, score) or 0",
    "end",
    "if KEYS[6] then redis.call('SET', KEYS[6], table.concat(reply, ' ', 2), 'PX', ARGV[9]) end",
    "return reply",
  ].join('\n'),
};
