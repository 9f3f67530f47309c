// Generated from lua/*.lua by `npm run lua`; do not edit.
import type { Script } from '../scripting/index.js';

/**
 * Acknowledges entries of a group that is ordered by key, as far as the consumer still holds them, and gives the next messages of
 * their keys their turn.
 *
 * - `KEYS[1]` retries
 * - `KEYS[2]` lanes: lane -> original id of the message whose turn it is
 * - `KEYS[3]` parked: those that wait for their turn
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3...]` ids: ascending
 * - returns ids that the consumer did not hold
 */
export const ackOrderedScript: Script<[retries: string, lanes: string, parked: string], [group: string, consumer: string, ...ids: string[]], string[]> = {
  name: 'stream.ack-ordered',
  sha: '63f69a1f63d72304da47e35e0799779b3a19c107',
  effect: 'idempotent',
  lua: [
    "local function valueOf(fields, name)",
    "  for i = 1, #fields, 2 do",
    "    if fields[i] == name then return fields[i + 1] end",
    "  end",
    "end",
    "local function laneOf(fields, originalId)",
    "  local key = valueOf(fields, 'key')",
    "  return redis.sha1hex(key and key ~= '' and 'key ' .. key or 'id ' .. originalId)",
    "end",
    "local function parkedName(lane, originalId)",
    "  local ms, seq = string.match(originalId, '^(%d+)%-(%d+)$')",
    "  return lane .. string.rep('0', 20 - #ms) .. ms .. string.rep('0', 20 - #seq) .. seq",
    "end",
    "local function rangeOf(lane) return '[' .. lane, '(' .. lane .. ':' end",
    "local function parkedFields(member) return cmsgpack.unpack(string.sub(member, 81)) end",
    "local function enter(lanes, parked, retries, originalId, fields)",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HSETNX', lanes, lane, originalId) == 1 then",
    "    redis.call('XADD', retries, '*', unpack(fields))",
    "  else",
    "    redis.call('ZADD', parked, 0, parkedName(lane, originalId) .. cmsgpack.pack(fields))",
    "  end",
    "end",
    "local function passOn(lanes, parked, retries, lane)",
    "  local first, last = rangeOf(lane)",
    "  local next = redis.call('ZRANGE', parked, first, last, 'BYLEX', 'LIMIT', 0, 1)[1]",
    "  if not next then",
    "    redis.call('HDEL', lanes, lane)",
    "    return",
    "  end",
    "  local fields = parkedFields(next)",
    "  redis.call('ZREM', parked, next)",
    "  redis.call('HSET', lanes, lane, valueOf(fields, 'x-original-id'))",
    "  redis.call('XADD', retries, '*', unpack(fields))",
    "end",
    "local function finish(lanes, parked, retries, id, fields)",
    "  local originalId = valueOf(fields, 'x-original-id') or id",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HGET', lanes, lane) == originalId then passOn(lanes, parked, retries, lane) end",
    "end",
    "local owned = {}",
    "for _, record in ipairs(redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[#ARGV], 1000000, ARGV[2])) do",
    "  owned[record[1]] = true",
    "end",
    "local done, entries, missed = {}, {}, {}",
    "for i = 3, #ARGV do",
    "  local id = ARGV[i]",
    "  if owned[id] then",
    "    done[#done + 1] = id",
    "    entries[#done] = redis.call('XRANGE', KEYS[1], id, id)[1] or false",
    "  else",
    "    missed[#missed + 1] = id",
    "  end",
    "end",
    "if #done == 0 then return missed end",
    "redis.call('XACK', KEYS[1], ARGV[1], unpack(done))",
    "redis.call('XDEL', KEYS[1], unpack(done))",
    "for i, id in ipairs(done) do",
    "  if entries[i] then finish(KEYS[2], KEYS[3], KEYS[1], id, entries[i][2]) end",
    "end",
    "return missed",
  ].join('\n'),
};

/**
 * Acknowledges retries and deletes them: nobody else reads them.
 *
 * - `KEYS[1]` retries
 * - `ARGV[1]` group
 * - `ARGV[2...]` ids
 * - returns how many were pending
 */
export const ackRetriedScript: Script<[retries: string], [group: string, ...ids: string[]], number> = {
  name: 'stream.ack-retried',
  sha: '72556f2358c11a7739f63256a7e82dc3dd4b5b96',
  effect: 'idempotent',
  lua: [
    "local acknowledged = 0",
    "for i = 2, #ARGV do",
    "  acknowledged = acknowledged + redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])",
    "  redis.call('XDEL', KEYS[1], ARGV[i])",
    "end",
    "return acknowledged",
  ].join('\n'),
};

/**
 * Takes back a delayed message that is not due yet.
 *
 * - `KEYS[1]` delayed
 * - `KEYS[2]` delayedBody
 * - `ARGV[1]` id
 * - returns 1 when it was taken back
 */
export const cancelScript: Script<[delayed: string, delayedBody: string], [id: string], 0 | 1> = {
  name: 'stream.cancel',
  sha: 'aa3aa2bce8383e77e67a79954fab93c95d083663',
  effect: 'once',
  lua: [
    "redis.call('HDEL', KEYS[2], ARGV[1])",
    "return redis.call('ZREM', KEYS[1], ARGV[1])",
  ].join('\n'),
};

/**
 * Takes over pending entries whose consumer has let their lease end. No delivery is counted: that happens when one starts.
 *
 * - `KEYS[1]` source: the stream or the retries of the group
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3]` leaseMs
 * - `ARGV[4]` cursor: where the previous call ended
 * - `ARGV[5]` count: most entries to take
 */
export const claimScript: Script<[source: string], [group: string, consumer: string, leaseMs: number, cursor: string, count: number], [cursor: string, entries: [id: string, deliveries: number, fields: string[]][], trimmed: number]> = {
  name: 'stream.claim',
  sha: 'd860bfb511ada75e5b009bb5fbc6a725b3be9cc3',
  effect: 'idempotent',
  lua: [
    "local function describe(stream, id, deliveries)",
    "  local found = redis.call('XRANGE', stream, id, id)[1]",
    "  if not found then return false end",
    "  return { id, deliveries, found[2] }",
    "end",
    "local reply = redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], 'COUNT', ARGV[5], 'JUSTID')",
    "local entries, trimmed = {}, #(reply[3] or {})",
    "for _, id in ipairs(reply[2]) do",
    "  local record = redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1)[1]",
    "  local entry = record and describe(KEYS[1], id, record[4])",
    "  if entry then",
    "    entries[#entries + 1] = entry",
    "  elseif record then",
    "    redis.call('XACK', KEYS[1], ARGV[1], id)",
    "    trimmed = trimmed + 1",
    "  end",
    "end",
    "return { reply[1], entries, trimmed }",
  ].join('\n'),
};

/**
 * Runs the commands of a handler, acknowledges its entry and gives the next message of its key its turn, if the consumer still
 * holds it: all of it or nothing.
 *
 * - `KEYS[1]` retries
 * - `KEYS[2...]` keys: of the commands, then the lanes and the parked messages of the group
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3]` id
 * - `ARGV[4]` commands: JSON list of lists: texts, and for a key its number in KEYS
 * - returns -1 when the consumer does not hold it, else how many commands ran
 */
export const commitOrderedScript: Script<[retries: string, ...keys: string[]], [group: string, consumer: string, id: string, commands: string], number> = {
  name: 'stream.commit-ordered',
  sha: '1c38395b03144fb642b11272c664c413d5f8b17d',
  effect: 'once',
  lua: [
    "local function owned(stream, group, consumer, id)",
    "  local record = redis.call('XPENDING', stream, group, id, id, 1)[1]",
    "  if not record then return false, false end",
    "  if record[2] ~= consumer then return false, true end",
    "  return record, true",
    "end",
    "local function runCommands(json)",
    "  local commands = cjson.decode(json)",
    "  for _, command in ipairs(commands) do",
    "    for i, part in ipairs(command) do",
    "      if type(part) == 'number' then command[i] = KEYS[part] end",
    "    end",
    "    redis.call(unpack(command))",
    "  end",
    "  return #commands",
    "end",
    "local function valueOf(fields, name)",
    "  for i = 1, #fields, 2 do",
    "    if fields[i] == name then return fields[i + 1] end",
    "  end",
    "end",
    "local function laneOf(fields, originalId)",
    "  local key = valueOf(fields, 'key')",
    "  return redis.sha1hex(key and key ~= '' and 'key ' .. key or 'id ' .. originalId)",
    "end",
    "local function parkedName(lane, originalId)",
    "  local ms, seq = string.match(originalId, '^(%d+)%-(%d+)$')",
    "  return lane .. string.rep('0', 20 - #ms) .. ms .. string.rep('0', 20 - #seq) .. seq",
    "end",
    "local function rangeOf(lane) return '[' .. lane, '(' .. lane .. ':' end",
    "local function parkedFields(member) return cmsgpack.unpack(string.sub(member, 81)) end",
    "local function enter(lanes, parked, retries, originalId, fields)",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HSETNX', lanes, lane, originalId) == 1 then",
    "    redis.call('XADD', retries, '*', unpack(fields))",
    "  else",
    "    redis.call('ZADD', parked, 0, parkedName(lane, originalId) .. cmsgpack.pack(fields))",
    "  end",
    "end",
    "local function passOn(lanes, parked, retries, lane)",
    "  local first, last = rangeOf(lane)",
    "  local next = redis.call('ZRANGE', parked, first, last, 'BYLEX', 'LIMIT', 0, 1)[1]",
    "  if not next then",
    "    redis.call('HDEL', lanes, lane)",
    "    return",
    "  end",
    "  local fields = parkedFields(next)",
    "  redis.call('ZREM', parked, next)",
    "  redis.call('HSET', lanes, lane, valueOf(fields, 'x-original-id'))",
    "  redis.call('XADD', retries, '*', unpack(fields))",
    "end",
    "local function finish(lanes, parked, retries, id, fields)",
    "  local originalId = valueOf(fields, 'x-original-id') or id",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HGET', lanes, lane) == originalId then passOn(lanes, parked, retries, lane) end",
    "end",
    "if not owned(KEYS[1], ARGV[1], ARGV[2], ARGV[3]) then return -1 end",
    "local found = redis.call('XRANGE', KEYS[1], ARGV[3], ARGV[3])[1]",
    "local count = runCommands(ARGV[4])",
    "redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])",
    "redis.call('XDEL', KEYS[1], ARGV[3])",
    "if found then finish(KEYS[#KEYS - 1], KEYS[#KEYS], KEYS[1], ARGV[3], found[2]) end",
    "return count",
  ].join('\n'),
};

/**
 * Runs the commands of a handler and acknowledges its entry, if the consumer still holds it: both or nothing.
 *
 * - `KEYS[1]` source: the stream or the retries of the group: where the entry is
 * - `KEYS[2...]` keys: of the commands
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3]` id
 * - `ARGV[4]` isRetry: 1: the source is the retries, from which what is done is deleted
 * - `ARGV[5]` commands: JSON list of lists: texts, and for a key its number in KEYS
 * - returns -1 when the consumer does not hold it, else how many commands ran
 */
export const commitScript: Script<[source: string, ...keys: string[]], [group: string, consumer: string, id: string, isRetry: number, commands: string], number> = {
  name: 'stream.commit',
  sha: '17b50657931011179081f7c923d4b9ede8a216a8',
  effect: 'once',
  lua: [
    "local function owned(stream, group, consumer, id)",
    "  local record = redis.call('XPENDING', stream, group, id, id, 1)[1]",
    "  if not record then return false, false end",
    "  if record[2] ~= consumer then return false, true end",
    "  return record, true",
    "end",
    "local function runCommands(json)",
    "  local commands = cjson.decode(json)",
    "  for _, command in ipairs(commands) do",
    "    for i, part in ipairs(command) do",
    "      if type(part) == 'number' then command[i] = KEYS[part] end",
    "    end",
    "    redis.call(unpack(command))",
    "  end",
    "  return #commands",
    "end",
    "if not owned(KEYS[1], ARGV[1], ARGV[2], ARGV[3]) then return -1 end",
    "local count = runCommands(ARGV[5])",
    "redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])",
    "if ARGV[4] == '1' then redis.call('XDEL', KEYS[1], ARGV[3]) end",
    "return count",
  ].join('\n'),
};

/**
 * Moves an entry of a group that is ordered by key to the dead letters, if the consumer still holds it, and gives the next message
 * of its key its turn. A repetition finds it acknowledged.
 *
 * - `KEYS[1]` retries
 * - `KEYS[2]` deadLetters
 * - `KEYS[3]` lanes: lane -> original id of the message whose turn it is
 * - `KEYS[4]` parked: those that wait for their turn
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3]` id
 * - `ARGV[4]` isRetry: 1
 * - `ARGV[5]` maxLen: of the dead letters, about
 * - `ARGV[6]` maxAgeMs: of a dead letter
 * - `ARGV[7]` facts: JSON list of names and values to add
 * - `ARGV[8]` fromMemory: 1: the entry was deleted from the retries, its fields are `fields`
 * - `ARGV[9...]` fields: names and values
 * - returns -2 when the fields must come from memory, -1 when the consumer does not hold it, else its new id
 */
export const deadLetterOrderedScript: Script<[retries: string, deadLetters: string, lanes: string, parked: string], [group: string, consumer: string, id: string, isRetry: number, maxLen: number, maxAgeMs: number, facts: string, fromMemory: number, ...fields: string[]], number | string> = {
  name: 'stream.dead-letter-ordered',
  sha: '67dd85358fae13058179f945cbacecc7357b3b85',
  effect: 'idempotent',
  lua: [
    "local function nowMs()",
    "  local time = redis.call('TIME')",
    "  return time[1] * 1000 + math.floor(time[2] / 1000)",
    "end",
    "local function text(number) return string.format('%.0f', number) end",
    "local NOTES = { ['x-original-id'] = true, ['x-attempt'] = true, ['x-first-failed'] = true, ['x-deliveries'] = true }",
    "local function split(fields)",
    "  local own, notes = {}, {}",
    "  for i = 1, #fields, 2 do",
    "    if NOTES[fields[i]] then",
    "      notes[fields[i]] = fields[i + 1]",
    "    else",
    "      own[#own + 1] = fields[i]",
    "      own[#own + 1] = fields[i + 1]",
    "    end",
    "  end",
    "  return own, notes",
    "end",
    "local function noted(fields, originalId, attempt, deliveries, firstFailed)",
    "  local own = split(fields)",
    "  local notes = { 'x-original-id', originalId, 'x-attempt', attempt, 'x-deliveries', deliveries }",
    "  if firstFailed then",
    "    notes[#notes + 1] = 'x-first-failed'",
    "    notes[#notes + 1] = firstFailed",
    "  end",
    "  for _, value in ipairs(notes) do own[#own + 1] = value end",
    "  return own",
    "end",
    "local function owned(stream, group, consumer, id)",
    "  local record = redis.call('XPENDING', stream, group, id, id, 1)[1]",
    "  if not record then return false, false end",
    "  if record[2] ~= consumer then return false, true end",
    "  return record, true",
    "end",
    "local function heldFields(stream, group, consumer, id, fromMemory, first)",
    "  local mine, somebodys = owned(stream, group, consumer, id)",
    "  if fromMemory ~= '1' then",
    "    if not mine then return -1 end",
    "    local found = redis.call('XRANGE', stream, id, id)[1]",
    "    if not found then return -2 end",
    "    return found[2]",
    "  end",
    "  if somebodys and not mine then return -1 end",
    "  local fields = {}",
    "  for i = first, #ARGV do fields[#fields + 1] = ARGV[i] end",
    "  return fields",
    "end",
    "local function bury()",
    "  local found = heldFields(KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[8], 9)",
    "  if type(found) == 'number' then return found end",
    "  local fields, notes = split(found)",
    "  for _, value in ipairs(cjson.decode(ARGV[7])) do fields[#fields + 1] = value end",
    "  local now = nowMs()",
    "  local times = { 'x-dlq-first-failed', notes['x-first-failed'] or text(now), 'x-dlq-at', text(now) }",
    "  for _, value in ipairs(times) do fields[#fields + 1] = value end",
    "  local added = redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*', unpack(fields))",
    "  redis.call('XTRIM', KEYS[2], 'MINID', '~', text(now - ARGV[6]))",
    "  redis.call('PEXPIRE', KEYS[2], ARGV[6])",
    "  redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])",
    "  if ARGV[4] == '1' then redis.call('XDEL', KEYS[1], ARGV[3]) end",
    "  return added, found",
    "end",
    "local function valueOf(fields, name)",
    "  for i = 1, #fields, 2 do",
    "    if fields[i] == name then return fields[i + 1] end",
    "  end",
    "end",
    "local function laneOf(fields, originalId)",
    "  local key = valueOf(fields, 'key')",
    "  return redis.sha1hex(key and key ~= '' and 'key ' .. key or 'id ' .. originalId)",
    "end",
    "local function parkedName(lane, originalId)",
    "  local ms, seq = string.match(originalId, '^(%d+)%-(%d+)$')",
    "  return lane .. string.rep('0', 20 - #ms) .. ms .. string.rep('0', 20 - #seq) .. seq",
    "end",
    "local function rangeOf(lane) return '[' .. lane, '(' .. lane .. ':' end",
    "local function parkedFields(member) return cmsgpack.unpack(string.sub(member, 81)) end",
    "local function enter(lanes, parked, retries, originalId, fields)",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HSETNX', lanes, lane, originalId) == 1 then",
    "    redis.call('XADD', retries, '*', unpack(fields))",
    "  else",
    "    redis.call('ZADD', parked, 0, parkedName(lane, originalId) .. cmsgpack.pack(fields))",
    "  end",
    "end",
    "local function passOn(lanes, parked, retries, lane)",
    "  local first, last = rangeOf(lane)",
    "  local next = redis.call('ZRANGE', parked, first, last, 'BYLEX', 'LIMIT', 0, 1)[1]",
    "  if not next then",
    "    redis.call('HDEL', lanes, lane)",
    "    return",
    "  end",
    "  local fields = parkedFields(next)",
    "  redis.call('ZREM', parked, next)",
    "  redis.call('HSET', lanes, lane, valueOf(fields, 'x-original-id'))",
    "  redis.call('XADD', retries, '*', unpack(fields))",
    "end",
    "local function finish(lanes, parked, retries, id, fields)",
    "  local originalId = valueOf(fields, 'x-original-id') or id",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HGET', lanes, lane) == originalId then passOn(lanes, parked, retries, lane) end",
    "end",
    "local added, fields = bury()",
    "if fields then finish(KEYS[3], KEYS[4], KEYS[1], ARGV[3], fields) end",
    "return added",
  ].join('\n'),
};

/**
 * Moves an entry to the dead letters of its group, if the consumer still holds it. A repetition finds it acknowledged.
 *
 * - `KEYS[1]` source: the stream or the retries of the group: where the entry is
 * - `KEYS[2]` deadLetters
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3]` id
 * - `ARGV[4]` isRetry: 1: the source is the retries, from which what is done is deleted
 * - `ARGV[5]` maxLen: of the dead letters, about
 * - `ARGV[6]` maxAgeMs: of a dead letter
 * - `ARGV[7]` facts: JSON list of names and values to add
 * - `ARGV[8]` fromMemory: 1: the entry was trimmed from the stream, its fields are `fields`
 * - `ARGV[9...]` fields: names and values
 * - returns -2 when the fields must come from memory, -1 when the consumer does not hold it, else its new id
 */
export const deadLetterScript: Script<[source: string, deadLetters: string], [group: string, consumer: string, id: string, isRetry: number, maxLen: number, maxAgeMs: number, facts: string, fromMemory: number, ...fields: string[]], number | string> = {
  name: 'stream.dead-letter',
  sha: 'e3d47dafd765ac4d55959decdc6c4dd0ec220d40',
  effect: 'idempotent',
  lua: [
    "local function nowMs()",
    "  local time = redis.call('TIME')",
    "  return time[1] * 1000 + math.floor(time[2] / 1000)",
    "end",
    "local function text(number) return string.format('%.0f', number) end",
    "local NOTES = { ['x-original-id'] = true, ['x-attempt'] = true, ['x-first-failed'] = true, ['x-deliveries'] = true }",
    "local function split(fields)",
    "  local own, notes = {}, {}",
    "  for i = 1, #fields, 2 do",
    "    if NOTES[fields[i]] then",
    "      notes[fields[i]] = fields[i + 1]",
    "    else",
    "      own[#own + 1] = fields[i]",
    "      own[#own + 1] = fields[i + 1]",
    "    end",
    "  end",
    "  return own, notes",
    "end",
    "local function noted(fields, originalId, attempt, deliveries, firstFailed)",
    "  local own = split(fields)",
    "  local notes = { 'x-original-id', originalId, 'x-attempt', attempt, 'x-deliveries', deliveries }",
    "  if firstFailed then",
    "    notes[#notes + 1] = 'x-first-failed'",
    "    notes[#notes + 1] = firstFailed",
    "  end",
    "  for _, value in ipairs(notes) do own[#own + 1] = value end",
    "  return own",
    "end",
    "local function owned(stream, group, consumer, id)",
    "  local record = redis.call('XPENDING', stream, group, id, id, 1)[1]",
    "  if not record then return false, false end",
    "  if record[2] ~= consumer then return false, true end",
    "  return record, true",
    "end",
    "local function heldFields(stream, group, consumer, id, fromMemory, first)",
    "  local mine, somebodys = owned(stream, group, consumer, id)",
    "  if fromMemory ~= '1' then",
    "    if not mine then return -1 end",
    "    local found = redis.call('XRANGE', stream, id, id)[1]",
    "    if not found then return -2 end",
    "    return found[2]",
    "  end",
    "  if somebodys and not mine then return -1 end",
    "  local fields = {}",
    "  for i = first, #ARGV do fields[#fields + 1] = ARGV[i] end",
    "  return fields",
    "end",
    "local function bury()",
    "  local found = heldFields(KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[8], 9)",
    "  if type(found) == 'number' then return found end",
    "  local fields, notes = split(found)",
    "  for _, value in ipairs(cjson.decode(ARGV[7])) do fields[#fields + 1] = value end",
    "  local now = nowMs()",
    "  local times = { 'x-dlq-first-failed', notes['x-first-failed'] or text(now), 'x-dlq-at', text(now) }",
    "  for _, value in ipairs(times) do fields[#fields + 1] = value end",
    "  local added = redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*', unpack(fields))",
    "  redis.call('XTRIM', KEYS[2], 'MINID', '~', text(now - ARGV[6]))",
    "  redis.call('PEXPIRE', KEYS[2], ARGV[6])",
    "  redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])",
    "  if ARGV[4] == '1' then redis.call('XDEL', KEYS[1], ARGV[3]) end",
    "  return added, found",
    "end",
    "local added = bury()",
    "return added",
  ].join('\n'),
};

/**
 * Deletes a group and everything that it kept, unless a member lives.
 *
 * - `KEYS[1]` stream
 * - `KEYS[2]` meta
 * - `KEYS[3]` members
 * - `KEYS[4...]` kept: what else belongs to the group
 * - `ARGV[1]` group
 * - returns -1 when a member lives, 0 when there was no such group
 */
export const deleteGroupScript: Script<[stream: string, meta: string, members: string, ...kept: string[]], [group: string], -1 | 0 | 1> = {
  name: 'stream.delete-group',
  sha: '5c692a09941e06a308d70217078a1ef447292565',
  effect: 'idempotent',
  lua: [
    "local function nowMs()",
    "  local time = redis.call('TIME')",
    "  return time[1] * 1000 + math.floor(time[2] / 1000)",
    "end",
    "local function text(number) return string.format('%.0f', number) end",
    "if redis.call('ZCOUNT', KEYS[3], text(nowMs()), '+inf') > 0 then return -1 end",
    "local destroyed = redis.pcall('XGROUP', 'DESTROY', KEYS[1], ARGV[1])",
    "redis.call('HDEL', KEYS[2], 'group:' .. ARGV[1], 'order:' .. ARGV[1])",
    "for i = 3, #KEYS do redis.call('UNLINK', KEYS[i]) end",
    "return type(destroyed) == 'number' and destroyed or 0",
  ].join('\n'),
};

/**
 * Creates the group of a reader where it is missing, on the stream and on its retries. A group that existed before is put where
 * it stood: never at the end of the stream, and at its beginning when the stream itself was lost. What the reader still holds
 * is its own again, unless somebody else took it.
 *
 * - `KEYS[1]` stream
 * - `KEYS[2]` retries
 * - `KEYS[3]` floor: position below which the group had finished everything
 * - `ARGV[1]` group
 * - `ARGV[2]` startFrom: '$', or the id after which a new group begins
 * - `ARGV[3]` consumer
 * - `ARGV[4]` seen: highest id that the reader was given, or ''
 * - `ARGV[5]` ttlMs: of the retries
 * - `ARGV[6]` lowest: lowest id of the stream that the reader holds, or ''
 * - `ARGV[7]` heldCount: how many of `held` are of the stream; the rest is of the retries
 * - `ARGV[8...]` held: ids
 * - returns the position at which the group was created; '' when it was there
 */
export const ensureGroupScript: Script<[stream: string, retries: string, floor: string], [group: string, startFrom: string, consumer: string, seen: string, ttlMs: number, lowest: string, heldCount: number, ...held: string[]], string> = {
  name: 'stream.ensure-group',
  sha: 'bfc6eab35599b58038777efb92b6557216a9ae50',
  effect: 'idempotent',
  lua: [
    "local function parts(id)",
    "  local ms, seq = string.match(id, '^(%d+)-(%d+)$')",
    "  return ms, seq",
    "end",
    "local function less(a, b)",
    "  local ams, aseq = parts(a)",
    "  local bms, bseq = parts(b)",
    "  if ams ~= bms then return tonumber(ams) < tonumber(bms) end",
    "  return tonumber(aseq) < tonumber(bseq)",
    "end",
    "local function before(id)",
    "  local ms, seq = parts(id)",
    "  if seq ~= '0' and #seq <= 15 then return ms .. '-' .. string.format('%.0f', tonumber(seq) - 1) end",
    "  if ms == '0' then return '0-0' end",
    "  return string.format('%.0f', tonumber(ms) - 1) .. '-18446744073709551615'",
    "end",
    "local function field(info, name)",
    "  for i = 1, #info, 2 do",
    "    if info[i] == name then return info[i + 1] end",
    "  end",
    "end",
    "local function exists(key)",
    "  local groups = redis.pcall('XINFO', 'GROUPS', key)",
    "  if groups.err then return false end",
    "  for _, info in ipairs(groups) do",
    "    if field(info, 'name') == ARGV[1] then return true end",
    "  end",
    "  return false",
    "end",
    "local function adopt(key, from, to)",
    "  for i = from, to do",
    "    if #redis.call('XPENDING', key, ARGV[1], ARGV[i], ARGV[i], 1) == 0 then",
    "      redis.call('XCLAIM', key, ARGV[1], ARGV[3], 0, ARGV[i], 'FORCE', 'JUSTID')",
    "    end",
    "  end",
    "end",
    "local held = 7 + ARGV[7]",
    "if not exists(KEYS[2]) then",
    "  redis.call('XGROUP', 'CREATE', KEYS[2], ARGV[1], '0', 'MKSTREAM')",
    "  adopt(KEYS[2], held + 1, #ARGV)",
    "end",
    "redis.call('PEXPIRE', KEYS[2], ARGV[5])",
    "if exists(KEYS[1]) then return '' end",
    "local last = '0-0'",
    "if redis.call('EXISTS', KEYS[1]) == 1 then last = field(redis.call('XINFO', 'STREAM', KEYS[1]), 'last-generated-id') end",
    "local stood = redis.call('GET', KEYS[3])",
    "if not stood and ARGV[6] ~= '' then stood = before(ARGV[6]) end",
    "if not stood and ARGV[4] ~= '' then stood = ARGV[4] end",
    "local position = stood or ARGV[2]",
    "if stood and (less(last, stood) or (ARGV[4] ~= '' and less(last, ARGV[4]))) then position = '0-0' end",
    "if position == '$' then position = last end",
    "redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], position, 'MKSTREAM')",
    "adopt(KEYS[1], 8, held)",
    "return position",
  ].join('\n'),
};

/**
 * Where a group stands.
 *
 * - `KEYS[1]` stream
 * - `KEYS[2]` retries
 * - `KEYS[3]` due
 * - `KEYS[4]` deadLetters
 * - `KEYS[5]` members
 * - `KEYS[6]` lanes: lane -> original id of the message whose turn it is, where the group is ordered by key
 * - `KEYS[7]` parked: those that wait for their turn
 * - `ARGV[1]` group
 * - returns lag: -1 when Redis cannot tell; oldestMs: age of the oldest entry of the stream that is not done; all -1 when the group is missing
 */
export const figuresScript: Script<[stream: string, retries: string, due: string, deadLetters: string, members: string, lanes: string, parked: string], [group: string], [lag: number, pending: number, retries: number, deadLetters: number, oldestMs: number, members: number, parked: number]> = {
  name: 'stream.figures',
  sha: 'f5bff47c416ec38f7184b26fe363afb9dac1cd76',
  effect: 'read',
  lua: [
    "local function nowMs()",
    "  local time = redis.call('TIME')",
    "  return time[1] * 1000 + math.floor(time[2] / 1000)",
    "end",
    "local function text(number) return string.format('%.0f', number) end",
    "local function parts(id)",
    "  local ms, seq = string.match(id, '^(%d+)-(%d+)$')",
    "  return ms, seq",
    "end",
    "local function less(a, b)",
    "  local ams, aseq = parts(a)",
    "  local bms, bseq = parts(b)",
    "  if ams ~= bms then return tonumber(ams) < tonumber(bms) end",
    "  return tonumber(aseq) < tonumber(bseq)",
    "end",
    "local function before(id)",
    "  local ms, seq = parts(id)",
    "  if seq ~= '0' and #seq <= 15 then return ms .. '-' .. string.format('%.0f', tonumber(seq) - 1) end",
    "  if ms == '0' then return '0-0' end",
    "  return string.format('%.0f', tonumber(ms) - 1) .. '-18446744073709551615'",
    "end",
    "local function field(info, name)",
    "  for i = 1, #info, 2 do",
    "    if info[i] == name then return info[i + 1] end",
    "  end",
    "end",
    "local now = nowMs()",
    "local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])",
    "local found",
    "if not groups.err then",
    "  for _, info in ipairs(groups) do",
    "    if field(info, 'name') == ARGV[1] then found = info end",
    "  end",
    "end",
    "if not found then return { -1, -1, -1, -1, -1, -1, -1 } end",
    "local function age(id) return math.max(0, now - string.match(id, '^%d+')) end",
    "local oldest = 0",
    "local pending = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1)[1]",
    "if pending then",
    "  oldest = age(pending[1])",
    "else",
    "  local next = redis.call('XRANGE', KEYS[1], '(' .. field(found, 'last-delivered-id'), '+', 'COUNT', 1)[1]",
    "  if next then oldest = age(next[1]) end",
    "end",
    "local inPending, due = field(found, 'pending'), redis.call('ZCARD', KEYS[3])",
    "local retries = due + redis.call('XLEN', KEYS[2])",
    "local turns, parked = redis.call('HVALS', KEYS[6]), redis.call('ZCARD', KEYS[7])",
    "if #turns > 0 then",
    "  retries = due",
    "  inPending = inPending + math.max(0, #turns + parked - due)",
    "  for _, id in ipairs(turns) do oldest = math.max(oldest, age(id)) end",
    "end",
    "local alive = redis.call('ZCOUNT', KEYS[5], text(now), '+inf')",
    "local lag = tonumber(field(found, 'lag') or -1) or -1",
    "return { lag, inPending, retries, redis.call('XLEN', KEYS[4]), oldest, alive, parked }",
  ].join('\n'),
};

/**
 * Has a consumer join its group, unless consumers with another ordering live in it. When none does, what waits in lanes is set free
 * where there are to be none any more.
 *
 * - `KEYS[1]` meta
 * - `KEYS[2]` members: consumer -> server time until which it counts as alive, milliseconds
 * - `KEYS[3]` retries
 * - `KEYS[4]` lanes
 * - `KEYS[5]` parked
 * - `ARGV[1]` group
 * - `ARGV[2]` ordering
 * - `ARGV[3]` consumer
 * - `ARGV[4]` aliveMs: time after which a member that is silent no longer counts
 * - `ARGV[5]` membersTtlMs
 * - `ARGV[6]` ttlMs: of the rest
 * - `ARGV[7]` again: 1: it has joined before, and what was agreed on then may have been deleted since
 * - returns 0 when it may not join
 */
export const joinScript: Script<[meta: string, members: string, retries: string, lanes: string, parked: string], [group: string, ordering: 'none' | 'key', consumer: string, aliveMs: number, membersTtlMs: number, ttlMs: number, again: 0 | 1], 0 | 1> = {
  name: 'stream.join',
  sha: '64ecc61bfc30bc74dcc12742b6c1139e299ef46f',
  effect: 'idempotent',
  lua: [
    "local function nowMs()",
    "  local time = redis.call('TIME')",
    "  return time[1] * 1000 + math.floor(time[2] / 1000)",
    "end",
    "local function text(number) return string.format('%.0f', number) end",
    "local function keep(key, ttl)",
    "  if redis.call('PTTL', key) < tonumber(ttl) then redis.call('PEXPIRE', key, ttl) end",
    "end",
    "local function valueOf(fields, name)",
    "  for i = 1, #fields, 2 do",
    "    if fields[i] == name then return fields[i + 1] end",
    "  end",
    "end",
    "local function laneOf(fields, originalId)",
    "  local key = valueOf(fields, 'key')",
    "  return redis.sha1hex(key and key ~= '' and 'key ' .. key or 'id ' .. originalId)",
    "end",
    "local function parkedName(lane, originalId)",
    "  local ms, seq = string.match(originalId, '^(%d+)%-(%d+)$')",
    "  return lane .. string.rep('0', 20 - #ms) .. ms .. string.rep('0', 20 - #seq) .. seq",
    "end",
    "local function rangeOf(lane) return '[' .. lane, '(' .. lane .. ':' end",
    "local function parkedFields(member) return cmsgpack.unpack(string.sub(member, 81)) end",
    "local function enter(lanes, parked, retries, originalId, fields)",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HSETNX', lanes, lane, originalId) == 1 then",
    "    redis.call('XADD', retries, '*', unpack(fields))",
    "  else",
    "    redis.call('ZADD', parked, 0, parkedName(lane, originalId) .. cmsgpack.pack(fields))",
    "  end",
    "end",
    "local function passOn(lanes, parked, retries, lane)",
    "  local first, last = rangeOf(lane)",
    "  local next = redis.call('ZRANGE', parked, first, last, 'BYLEX', 'LIMIT', 0, 1)[1]",
    "  if not next then",
    "    redis.call('HDEL', lanes, lane)",
    "    return",
    "  end",
    "  local fields = parkedFields(next)",
    "  redis.call('ZREM', parked, next)",
    "  redis.call('HSET', lanes, lane, valueOf(fields, 'x-original-id'))",
    "  redis.call('XADD', retries, '*', unpack(fields))",
    "end",
    "local function finish(lanes, parked, retries, id, fields)",
    "  local originalId = valueOf(fields, 'x-original-id') or id",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HGET', lanes, lane) == originalId then passOn(lanes, parked, retries, lane) end",
    "end",
    "local now, ordering = nowMs(), 'order:' .. ARGV[1]",
    "local agreed = redis.call('HGET', KEYS[1], ordering)",
    "if (agreed or 'none') ~= ARGV[2] then",
    "  if agreed or ARGV[7] == '0' then",
    "    for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], text(now), '+inf')) do",
    "      if member ~= ARGV[3] then return 0 end",
    "    end",
    "  end",
    "  if ARGV[2] == 'key' then",
    "    redis.call('HSET', KEYS[1], ordering, 'key')",
    "  else",
    "    for _, member in ipairs(redis.call('ZRANGE', KEYS[5], 0, -1)) do",
    "      redis.call('XADD', KEYS[3], '*', unpack(parkedFields(member)))",
    "    end",
    "    redis.call('UNLINK', KEYS[4], KEYS[5])",
    "    redis.call('HDEL', KEYS[1], ordering)",
    "  end",
    "end",
    "if ARGV[2] == 'key' then keep(KEYS[1], ARGV[6]) end",
    "redis.pcall('ZADD', KEYS[2], text(now + ARGV[4]), ARGV[3])",
    "redis.call('PEXPIRE', KEYS[2], ARGV[5])",
    "return 1",
  ].join('\n'),
};

/**
 * Where a key stands in a group that is ordered by key.
 *
 * - `KEYS[1]` retries
 * - `KEYS[2]` due: original id -> server time at which it is due
 * - `KEYS[3]` lanes: lane -> original id of the message whose turn it is
 * - `KEYS[4]` parked: those that wait for their turn
 * - `ARGV[1]` group
 * - `ARGV[2]` key
 * - returns id: '' when nothing of the key is under way; consumer: '' when none has it; dueMs: time until its next attempt, -1 when it waits for none
 */
export const laneScript: Script<[retries: string, due: string, lanes: string, parked: string], [group: string, key: string], [id: string, consumer: string, dueMs: number, waiting: number]> = {
  name: 'stream.lane',
  sha: 'b74bb8f48e067c2d6eacc2fb903a0ee5245a5bd2',
  effect: 'read',
  lua: [
    "local function nowMs()",
    "  local time = redis.call('TIME')",
    "  return time[1] * 1000 + math.floor(time[2] / 1000)",
    "end",
    "local function text(number) return string.format('%.0f', number) end",
    "local function valueOf(fields, name)",
    "  for i = 1, #fields, 2 do",
    "    if fields[i] == name then return fields[i + 1] end",
    "  end",
    "end",
    "local function laneOf(fields, originalId)",
    "  local key = valueOf(fields, 'key')",
    "  return redis.sha1hex(key and key ~= '' and 'key ' .. key or 'id ' .. originalId)",
    "end",
    "local function parkedName(lane, originalId)",
    "  local ms, seq = string.match(originalId, '^(%d+)%-(%d+)$')",
    "  return lane .. string.rep('0', 20 - #ms) .. ms .. string.rep('0', 20 - #seq) .. seq",
    "end",
    "local function rangeOf(lane) return '[' .. lane, '(' .. lane .. ':' end",
    "local function parkedFields(member) return cmsgpack.unpack(string.sub(member, 81)) end",
    "local function enter(lanes, parked, retries, originalId, fields)",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HSETNX', lanes, lane, originalId) == 1 then",
    "    redis.call('XADD', retries, '*', unpack(fields))",
    "  else",
    "    redis.call('ZADD', parked, 0, parkedName(lane, originalId) .. cmsgpack.pack(fields))",
    "  end",
    "end",
    "local function passOn(lanes, parked, retries, lane)",
    "  local first, last = rangeOf(lane)",
    "  local next = redis.call('ZRANGE', parked, first, last, 'BYLEX', 'LIMIT', 0, 1)[1]",
    "  if not next then",
    "    redis.call('HDEL', lanes, lane)",
    "    return",
    "  end",
    "  local fields = parkedFields(next)",
    "  redis.call('ZREM', parked, next)",
    "  redis.call('HSET', lanes, lane, valueOf(fields, 'x-original-id'))",
    "  redis.call('XADD', retries, '*', unpack(fields))",
    "end",
    "local function finish(lanes, parked, retries, id, fields)",
    "  local originalId = valueOf(fields, 'x-original-id') or id",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HGET', lanes, lane) == originalId then passOn(lanes, parked, retries, lane) end",
    "end",
    "local lane = laneOf({ 'key', ARGV[2] }, '')",
    "local id = redis.call('HGET', KEYS[3], lane)",
    "if not id then return { '', '', -1, 0 } end",
    "local first, last = rangeOf(lane)",
    "local waiting = redis.call('ZLEXCOUNT', KEYS[4], first, last)",
    "local due = redis.call('ZSCORE', KEYS[2], id)",
    "if due then return { id, '', math.max(0, due - nowMs()), waiting } end",
    "for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', '+')) do",
    "  if valueOf(entry[2], 'x-original-id') == id then",
    "    local record = redis.call('XPENDING', KEYS[1], ARGV[1], entry[1], entry[1], 1)[1]",
    "    return { id, record and record[2] or '', -1, waiting }",
    "  end",
    "end",
    "return { id, '', -1, waiting }",
  ].join('\n'),
};

/**
 * Removes a consumer that has nothing pending.
 *
 * - `KEYS[1]` stream
 * - `KEYS[2]` retries
 * - `KEYS[3]` members
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - returns 0 when it has entries pending, and stays until they are done elsewhere
 */
export const leaveScript: Script<[stream: string, retries: string, members: string], [group: string, consumer: string], 0 | 1> = {
  name: 'stream.leave',
  sha: 'e0b591535d445d416156a15dc0e3b763d3f02c75',
  effect: 'idempotent',
  lua: [
    "local function reap(stream, retries, members, group, consumer)",
    "  for _, key in ipairs({ stream, retries }) do",
    "    local pending = redis.pcall('XPENDING', key, group, '-', '+', 1, consumer)",
    "    if not pending.err and #pending > 0 then return 0 end",
    "  end",
    "  redis.pcall('XGROUP', 'DELCONSUMER', stream, group, consumer)",
    "  redis.pcall('XGROUP', 'DELCONSUMER', retries, group, consumer)",
    "  redis.call('ZREM', members, consumer)",
    "  return 1",
    "end",
    "return reap(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2])",
  ].join('\n'),
};

/**
 * Gives the next message its turn where the one that had it is gone: somebody has deleted it from the retries.
 *
 * - `KEYS[1]` retries
 * - `KEYS[2]` dueBody
 * - `KEYS[3]` lanes: lane -> original id of the message whose turn it is
 * - `KEYS[4]` parked: those that wait for their turn
 * - returns of lanes
 */
export const mendScript: Script<[retries: string, dueBody: string, lanes: string, parked: string], [], number> = {
  name: 'stream.mend',
  sha: 'f2659b86df7c9837b84fbb1f9c77e602f1d82177',
  effect: 'idempotent',
  lua: [
    "local function valueOf(fields, name)",
    "  for i = 1, #fields, 2 do",
    "    if fields[i] == name then return fields[i + 1] end",
    "  end",
    "end",
    "local function laneOf(fields, originalId)",
    "  local key = valueOf(fields, 'key')",
    "  return redis.sha1hex(key and key ~= '' and 'key ' .. key or 'id ' .. originalId)",
    "end",
    "local function parkedName(lane, originalId)",
    "  local ms, seq = string.match(originalId, '^(%d+)%-(%d+)$')",
    "  return lane .. string.rep('0', 20 - #ms) .. ms .. string.rep('0', 20 - #seq) .. seq",
    "end",
    "local function rangeOf(lane) return '[' .. lane, '(' .. lane .. ':' end",
    "local function parkedFields(member) return cmsgpack.unpack(string.sub(member, 81)) end",
    "local function enter(lanes, parked, retries, originalId, fields)",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HSETNX', lanes, lane, originalId) == 1 then",
    "    redis.call('XADD', retries, '*', unpack(fields))",
    "  else",
    "    redis.call('ZADD', parked, 0, parkedName(lane, originalId) .. cmsgpack.pack(fields))",
    "  end",
    "end",
    "local function passOn(lanes, parked, retries, lane)",
    "  local first, last = rangeOf(lane)",
    "  local next = redis.call('ZRANGE', parked, first, last, 'BYLEX', 'LIMIT', 0, 1)[1]",
    "  if not next then",
    "    redis.call('HDEL', lanes, lane)",
    "    return",
    "  end",
    "  local fields = parkedFields(next)",
    "  redis.call('ZREM', parked, next)",
    "  redis.call('HSET', lanes, lane, valueOf(fields, 'x-original-id'))",
    "  redis.call('XADD', retries, '*', unpack(fields))",
    "end",
    "local function finish(lanes, parked, retries, id, fields)",
    "  local originalId = valueOf(fields, 'x-original-id') or id",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HGET', lanes, lane) == originalId then passOn(lanes, parked, retries, lane) end",
    "end",
    "local there = {}",
    "local function see(id, fields)",
    "  there[valueOf(fields, 'x-original-id') or id] = true",
    "end",
    "for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', '+')) do see(entry[1], entry[2]) end",
    "for _, packed in ipairs(redis.call('HVALS', KEYS[2])) do see('', cmsgpack.unpack(packed)) end",
    "local mended = 0",
    "local lanes = redis.call('HGETALL', KEYS[3])",
    "for i = 1, #lanes, 2 do",
    "  if not there[lanes[i + 1]] then",
    "    passOn(KEYS[3], KEYS[4], KEYS[1], lanes[i])",
    "    mended = mended + 1",
    "  end",
    "end",
    "return mended",
  ].join('\n'),
};

/**
 * Appends what is due by the server's clock: retries to those of the group, delayed messages to the stream. Any member of the
 * group may do it, and looks at the pause flag on the way.
 *
 * - `KEYS[1]` stream
 * - `KEYS[2]` delayed: id -> server time at which the message is due
 * - `KEYS[3]` delayedBody: id -> packed fields
 * - `KEYS[4]` retries
 * - `KEYS[5]` due: original id -> server time at which the retry is due
 * - `KEYS[6]` dueBody: original id -> packed fields
 * - `KEYS[7]` paused
 * - `ARGV[1]` limit: of each kind
 * - `ARGV[2]` maxLen: of the stream when its retention is hard, else 0
 * - `ARGV[3]` ttlMs: of the retries
 * - returns nextMs: time until the next one is due, -1 when none waits
 */
export const promoteScript: Script<[stream: string, delayed: string, delayedBody: string, retries: string, due: string, dueBody: string, paused: string], [limit: number, maxLen: number, ttlMs: number], [promoted: number, nextMs: number, paused: 0 | 1]> = {
  name: 'stream.promote',
  sha: '6bca69f4630aab91aa1ab474da685c321c725bd4',
  effect: 'idempotent',
  lua: [
    "local function nowMs()",
    "  local time = redis.call('TIME')",
    "  return time[1] * 1000 + math.floor(time[2] / 1000)",
    "end",
    "local function text(number) return string.format('%.0f', number) end",
    "local function promoteDue(due, bodies, target, maxLen, limit, ttl)",
    "  local now = nowMs()",
    "  local ids = redis.call('ZRANGEBYSCORE', due, '-inf', text(now), 'LIMIT', 0, limit)",
    "  for _, id in ipairs(ids) do",
    "    local packed = redis.call('HGET', bodies, id)",
    "    if packed then",
    "      local fields = cmsgpack.unpack(packed)",
    "      if maxLen == '0' then",
    "        redis.call('XADD', target, '*', unpack(fields))",
    "      else",
    "        redis.call('XADD', target, 'MAXLEN', '~', maxLen, '*', unpack(fields))",
    "      end",
    "      redis.call('HDEL', bodies, id)",
    "    end",
    "    redis.call('ZREM', due, id)",
    "  end",
    "  if ttl and #ids > 0 then redis.call('PEXPIRE', target, ttl) end",
    "  local next = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]",
    "  return #ids, next and math.max(0, next - now) or -1",
    "end",
    "local retried, nextRetry = promoteDue(KEYS[5], KEYS[6], KEYS[4], '0', ARGV[1], ARGV[3])",
    "local published, nextDelayed = promoteDue(KEYS[2], KEYS[3], KEYS[1], ARGV[2], ARGV[1])",
    "local next = nextRetry",
    "if next < 0 or (nextDelayed >= 0 and nextDelayed < next) then next = nextDelayed end",
    "return { retried + published, next, redis.call('EXISTS', KEYS[7]) }",
  ].join('\n'),
};

/**
 * Keeps a message until it is due by the server's clock, unless one with the same dedup id was published lately.
 *
 * - `KEYS[1]` delayed: id -> server time at which the message is due
 * - `KEYS[2]` delayedBody: id -> packed fields
 * - `KEYS[3]` dedup: looked at only with a dedupTtlMs
 * - `ARGV[1]` id
 * - `ARGV[2]` delayMs
 * - `ARGV[3]` dedupTtlMs: 0: no dedup id
 * - `ARGV[4]` ttlMs: of what is delayed, beyond the delay
 * - `ARGV[5...]` fields: names and values
 * - returns its id, or the id of the first one with this dedup id
 */
export const publishLaterScript: Script<[delayed: string, delayedBody: string, dedup: string], [id: string, delayMs: number, dedupTtlMs: number, ttlMs: number, ...fields: string[]], string> = {
  name: 'stream.publish-later',
  sha: '1114ffabdb2e5ec03a2e4d669c7b8b125f6f9b03',
  effect: 'once',
  lua: [
    "local function nowMs()",
    "  local time = redis.call('TIME')",
    "  return time[1] * 1000 + math.floor(time[2] / 1000)",
    "end",
    "local function text(number) return string.format('%.0f', number) end",
    "local function keep(key, ttl)",
    "  if redis.call('PTTL', key) < tonumber(ttl) then redis.call('PEXPIRE', key, ttl) end",
    "end",
    "if ARGV[3] ~= '0' then",
    "  local known = redis.call('GET', KEYS[3])",
    "  if known then return known end",
    "end",
    "local fields = {}",
    "for i = 5, #ARGV do fields[#fields + 1] = ARGV[i] end",
    "redis.call('HSET', KEYS[2], ARGV[1], cmsgpack.pack(fields))",
    "redis.call('ZADD', KEYS[1], text(nowMs() + ARGV[2]), ARGV[1])",
    "keep(KEYS[2], text(ARGV[2] + ARGV[4]))",
    "keep(KEYS[1], text(ARGV[2] + ARGV[4]))",
    "if ARGV[3] ~= '0' then redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[3]) end",
    "return ARGV[1]",
  ].join('\n'),
};

/**
 * Appends a message unless one with the same dedup id was published lately. A repetition finds the first one.
 *
 * - `KEYS[1]` stream
 * - `KEYS[2]` dedup
 * - `ARGV[1]` dedupTtlMs
 * - `ARGV[2]` maxLen: of the stream when its retention is hard, else 0
 * - `ARGV[3...]` fields: names and values
 * - returns id of the first one
 */
export const publishOnceScript: Script<[stream: string, dedup: string], [dedupTtlMs: number, maxLen: number, ...fields: string[]], string> = {
  name: 'stream.publish-once',
  sha: '1f19afcaaa24d83b8b5ad5064c9602b5c30eb322',
  effect: 'token',
  lua: [
    "local known = redis.call('GET', KEYS[2])",
    "if known then return known end",
    "local fields = {}",
    "for i = 3, #ARGV do fields[#fields + 1] = ARGV[i] end",
    "local id",
    "if ARGV[2] == '0' then",
    "  id = redis.call('XADD', KEYS[1], '*', unpack(fields))",
    "else",
    "  id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', unpack(fields))",
    "end",
    "redis.call('SET', KEYS[2], id, 'PX', ARGV[1])",
    "return id",
  ].join('\n'),
};

/**
 * Gives the bodies of entries that are pending for the consumer and that it does not have, because a reply was lost.
 *
 * - `KEYS[1]` source: the stream or the retries of the group
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3...]` ids
 */
export const recoverScript: Script<[source: string], [group: string, consumer: string, ...ids: string[]], [entries: [id: string, deliveries: number, fields: string[]][], trimmed: number]> = {
  name: 'stream.recover',
  sha: '67c437e9420eb7c0b5b37915daf95c198d72803b',
  effect: 'idempotent',
  lua: [
    "local function owned(stream, group, consumer, id)",
    "  local record = redis.call('XPENDING', stream, group, id, id, 1)[1]",
    "  if not record then return false, false end",
    "  if record[2] ~= consumer then return false, true end",
    "  return record, true",
    "end",
    "local function describe(stream, id, deliveries)",
    "  local found = redis.call('XRANGE', stream, id, id)[1]",
    "  if not found then return false end",
    "  return { id, deliveries, found[2] }",
    "end",
    "local entries, trimmed = {}, 0",
    "for i = 3, #ARGV do",
    "  local record = owned(KEYS[1], ARGV[1], ARGV[2], ARGV[i])",
    "  if record then",
    "    local entry = describe(KEYS[1], ARGV[i], record[4])",
    "    if entry then",
    "      redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'JUSTID')",
    "      entries[#entries + 1] = entry",
    "    else",
    "      redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])",
    "      trimmed = trimmed + 1",
    "    end",
    "  end",
    "end",
    "return { entries, trimmed }",
  ].join('\n'),
};

/**
 * Hands over entries that a consumer holds and has not begun with: they go to the retries of the group, due now, with the
 * attempts that they had. A consumer that waits for work takes them at once.
 *
 * - `KEYS[1]` source: the stream or the retries of the group: where the entries are
 * - `KEYS[2]` retries
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3]` isRetry: 1: the source is the retries
 * - `ARGV[4]` ttlMs: of the retries
 * - `ARGV[5...]` entries: in turn: id, starts that never came to an end
 * - returns ids that were trimmed from the stream, and not handed over
 */
export const releaseScript: Script<[source: string, retries: string], [group: string, consumer: string, isRetry: number, ttlMs: number, ...entries: (string | number)[]], string[]> = {
  name: 'stream.release',
  sha: 'ac06c1450c35102570f3568f87c5b3d49cadfb8a',
  effect: 'idempotent',
  lua: [
    "local NOTES = { ['x-original-id'] = true, ['x-attempt'] = true, ['x-first-failed'] = true, ['x-deliveries'] = true }",
    "local function split(fields)",
    "  local own, notes = {}, {}",
    "  for i = 1, #fields, 2 do",
    "    if NOTES[fields[i]] then",
    "      notes[fields[i]] = fields[i + 1]",
    "    else",
    "      own[#own + 1] = fields[i]",
    "      own[#own + 1] = fields[i + 1]",
    "    end",
    "  end",
    "  return own, notes",
    "end",
    "local function noted(fields, originalId, attempt, deliveries, firstFailed)",
    "  local own = split(fields)",
    "  local notes = { 'x-original-id', originalId, 'x-attempt', attempt, 'x-deliveries', deliveries }",
    "  if firstFailed then",
    "    notes[#notes + 1] = 'x-first-failed'",
    "    notes[#notes + 1] = firstFailed",
    "  end",
    "  for _, value in ipairs(notes) do own[#own + 1] = value end",
    "  return own",
    "end",
    "local function owned(stream, group, consumer, id)",
    "  local record = redis.call('XPENDING', stream, group, id, id, 1)[1]",
    "  if not record then return false, false end",
    "  if record[2] ~= consumer then return false, true end",
    "  return record, true",
    "end",
    "local trimmed = {}",
    "for i = 5, #ARGV, 2 do",
    "  local id = ARGV[i]",
    "  if owned(KEYS[1], ARGV[1], ARGV[2], id) then",
    "    local found = redis.call('XRANGE', KEYS[1], id, id)[1]",
    "    if found then",
    "      local _, notes = split(found[2])",
    "      local original = notes['x-original-id'] or id",
    "      local fields = noted(found[2], original, notes['x-attempt'] or '0', ARGV[i + 1], notes['x-first-failed'])",
    "      redis.call('XADD', KEYS[2], '*', unpack(fields))",
    "      redis.call('PEXPIRE', KEYS[2], ARGV[4])",
    "      redis.call('XACK', KEYS[1], ARGV[1], id)",
    "      if ARGV[3] == '1' then redis.call('XDEL', KEYS[1], id) end",
    "    else",
    "      trimmed[#trimmed + 1] = id",
    "    end",
    "  end",
    "end",
    "return trimmed",
  ].join('\n'),
};

/**
 * Renews the leases of entries that the consumer still holds.
 *
 * - `KEYS[1]` source: the stream or the retries of the group
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3...]` ids
 * - returns ids that belong to nobody or to another consumer; ids trimmed from the stream
 */
export const renewScript: Script<[source: string], [group: string, consumer: string, ...ids: string[]], [lost: string[], gone: string[]]> = {
  name: 'stream.renew',
  sha: '4862bf11e3e3704c7e341d771d098d93587f1e75',
  effect: 'idempotent',
  lua: [
    "local function owned(stream, group, consumer, id)",
    "  local record = redis.call('XPENDING', stream, group, id, id, 1)[1]",
    "  if not record then return false, false end",
    "  if record[2] ~= consumer then return false, true end",
    "  return record, true",
    "end",
    "local lost, gone = {}, {}",
    "for i = 3, #ARGV do",
    "  if not owned(KEYS[1], ARGV[1], ARGV[2], ARGV[i]) then",
    "    lost[#lost + 1] = ARGV[i]",
    "  elseif #redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'JUSTID') == 0 then",
    "    gone[#gone + 1] = ARGV[i]",
    "  end",
    "end",
    "return { lost, gone }",
  ].join('\n'),
};

/**
 * Gives entries of a stream to one group once more: they go to its retries, due now, as if they had never been tried. Where the
 * group is ordered by key, each waits for its turn.
 *
 * - `KEYS[1]` source: the stream, or the dead letters of the group
 * - `KEYS[2]` retries
 * - `KEYS[3]` meta
 * - `KEYS[4]` lanes: lane -> original id of the message whose turn it is
 * - `KEYS[5]` parked: those that wait for their turn
 * - `ARGV[1]` isDeadLetter: 1: the source is the dead letters, from which what is replayed is deleted
 * - `ARGV[2]` ttlMs: of what the group keeps
 * - `ARGV[3]` group
 * - `ARGV[4...]` ids
 * - returns how many there were
 */
export const replayScript: Script<[source: string, retries: string, meta: string, lanes: string, parked: string], [isDeadLetter: number, ttlMs: number, group: string, ...ids: string[]], number> = {
  name: 'stream.replay',
  sha: 'd5e28b97cd538b2f7b4e40f306fe93455d7f8b0d',
  effect: 'once',
  lua: [
    "local NOTES = { ['x-original-id'] = true, ['x-attempt'] = true, ['x-first-failed'] = true, ['x-deliveries'] = true }",
    "local function split(fields)",
    "  local own, notes = {}, {}",
    "  for i = 1, #fields, 2 do",
    "    if NOTES[fields[i]] then",
    "      notes[fields[i]] = fields[i + 1]",
    "    else",
    "      own[#own + 1] = fields[i]",
    "      own[#own + 1] = fields[i + 1]",
    "    end",
    "  end",
    "  return own, notes",
    "end",
    "local function noted(fields, originalId, attempt, deliveries, firstFailed)",
    "  local own = split(fields)",
    "  local notes = { 'x-original-id', originalId, 'x-attempt', attempt, 'x-deliveries', deliveries }",
    "  if firstFailed then",
    "    notes[#notes + 1] = 'x-first-failed'",
    "    notes[#notes + 1] = firstFailed",
    "  end",
    "  for _, value in ipairs(notes) do own[#own + 1] = value end",
    "  return own",
    "end",
    "local function keep(key, ttl)",
    "  if redis.call('PTTL', key) < tonumber(ttl) then redis.call('PEXPIRE', key, ttl) end",
    "end",
    "local function valueOf(fields, name)",
    "  for i = 1, #fields, 2 do",
    "    if fields[i] == name then return fields[i + 1] end",
    "  end",
    "end",
    "local function laneOf(fields, originalId)",
    "  local key = valueOf(fields, 'key')",
    "  return redis.sha1hex(key and key ~= '' and 'key ' .. key or 'id ' .. originalId)",
    "end",
    "local function parkedName(lane, originalId)",
    "  local ms, seq = string.match(originalId, '^(%d+)%-(%d+)$')",
    "  return lane .. string.rep('0', 20 - #ms) .. ms .. string.rep('0', 20 - #seq) .. seq",
    "end",
    "local function rangeOf(lane) return '[' .. lane, '(' .. lane .. ':' end",
    "local function parkedFields(member) return cmsgpack.unpack(string.sub(member, 81)) end",
    "local function enter(lanes, parked, retries, originalId, fields)",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HSETNX', lanes, lane, originalId) == 1 then",
    "    redis.call('XADD', retries, '*', unpack(fields))",
    "  else",
    "    redis.call('ZADD', parked, 0, parkedName(lane, originalId) .. cmsgpack.pack(fields))",
    "  end",
    "end",
    "local function passOn(lanes, parked, retries, lane)",
    "  local first, last = rangeOf(lane)",
    "  local next = redis.call('ZRANGE', parked, first, last, 'BYLEX', 'LIMIT', 0, 1)[1]",
    "  if not next then",
    "    redis.call('HDEL', lanes, lane)",
    "    return",
    "  end",
    "  local fields = parkedFields(next)",
    "  redis.call('ZREM', parked, next)",
    "  redis.call('HSET', lanes, lane, valueOf(fields, 'x-original-id'))",
    "  redis.call('XADD', retries, '*', unpack(fields))",
    "end",
    "local function finish(lanes, parked, retries, id, fields)",
    "  local originalId = valueOf(fields, 'x-original-id') or id",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HGET', lanes, lane) == originalId then passOn(lanes, parked, retries, lane) end",
    "end",
    "local isOrdered = redis.call('HGET', KEYS[3], 'order:' .. ARGV[3]) == 'key'",
    "local replayed = 0",
    "for i = 4, #ARGV do",
    "  local found = redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1]",
    "  if found then",
    "    local own, original = {}, found[1]",
    "    for j = 1, #found[2], 2 do",
    "      local name, value = found[2][j], found[2][j + 1]",
    "      if name == 'x-dlq-id' then original = value end",
    "      if ARGV[1] == '0' or string.sub(name, 1, 6) ~= 'x-dlq-' then",
    "        own[#own + 1] = name",
    "        own[#own + 1] = value",
    "      end",
    "    end",
    "    local fields = noted(own, original, '0', '0')",
    "    if isOrdered then",
    "      enter(KEYS[4], KEYS[5], KEYS[2], original, fields)",
    "    else",
    "      redis.call('XADD', KEYS[2], '*', unpack(fields))",
    "    end",
    "    if ARGV[1] == '1' then redis.call('XDEL', KEYS[1], found[1]) end",
    "    replayed = replayed + 1",
    "  end",
    "end",
    "if replayed > 0 then redis.call('PEXPIRE', KEYS[2], ARGV[2]) end",
    "if isOrdered then",
    "  keep(KEYS[4], ARGV[2])",
    "  keep(KEYS[5], ARGV[2])",
    "end",
    "return replayed",
  ].join('\n'),
};

/**
 * Moves an entry to the retries of its group, if the consumer still holds it. A repetition finds it acknowledged.
 *
 * - `KEYS[1]` source: the stream or the retries of the group: where the entry is
 * - `KEYS[2]` due: original id -> server time at which it is due
 * - `KEYS[3]` dueBody: original id -> packed fields
 * - `KEYS[4]` retries: stream of what is due
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3]` id
 * - `ARGV[4]` delayMs: 0: it is due now
 * - `ARGV[5]` isRetry: 1: the source is the retries, from which what is done is deleted
 * - `ARGV[6]` originalId: id in the stream
 * - `ARGV[7]` attempt: attempts that have failed
 * - `ARGV[8]` deliveries: starts that never came to an end
 * - `ARGV[9]` ttlMs: of the retries
 * - `ARGV[10]` fromMemory: 1: the entry was trimmed from the stream, its fields are `fields`
 * - `ARGV[11...]` fields: names and values
 * - returns -2 when the fields must come from memory, -1 when the consumer does not hold it, else 1
 */
export const retryScript: Script<[source: string, due: string, dueBody: string, retries: string], [group: string, consumer: string, id: string, delayMs: number, isRetry: number, originalId: string, attempt: number, deliveries: number, ttlMs: number, fromMemory: number, ...fields: string[]], number> = {
  name: 'stream.retry',
  sha: 'a268c62970d0b29b0540669180e8b5ca403cb9a0',
  effect: 'idempotent',
  lua: [
    "local function nowMs()",
    "  local time = redis.call('TIME')",
    "  return time[1] * 1000 + math.floor(time[2] / 1000)",
    "end",
    "local function text(number) return string.format('%.0f', number) end",
    "local NOTES = { ['x-original-id'] = true, ['x-attempt'] = true, ['x-first-failed'] = true, ['x-deliveries'] = true }",
    "local function split(fields)",
    "  local own, notes = {}, {}",
    "  for i = 1, #fields, 2 do",
    "    if NOTES[fields[i]] then",
    "      notes[fields[i]] = fields[i + 1]",
    "    else",
    "      own[#own + 1] = fields[i]",
    "      own[#own + 1] = fields[i + 1]",
    "    end",
    "  end",
    "  return own, notes",
    "end",
    "local function noted(fields, originalId, attempt, deliveries, firstFailed)",
    "  local own = split(fields)",
    "  local notes = { 'x-original-id', originalId, 'x-attempt', attempt, 'x-deliveries', deliveries }",
    "  if firstFailed then",
    "    notes[#notes + 1] = 'x-first-failed'",
    "    notes[#notes + 1] = firstFailed",
    "  end",
    "  for _, value in ipairs(notes) do own[#own + 1] = value end",
    "  return own",
    "end",
    "local function keep(key, ttl)",
    "  if redis.call('PTTL', key) < tonumber(ttl) then redis.call('PEXPIRE', key, ttl) end",
    "end",
    "local function owned(stream, group, consumer, id)",
    "  local record = redis.call('XPENDING', stream, group, id, id, 1)[1]",
    "  if not record then return false, false end",
    "  if record[2] ~= consumer then return false, true end",
    "  return record, true",
    "end",
    "local function heldFields(stream, group, consumer, id, fromMemory, first)",
    "  local mine, somebodys = owned(stream, group, consumer, id)",
    "  if fromMemory ~= '1' then",
    "    if not mine then return -1 end",
    "    local found = redis.call('XRANGE', stream, id, id)[1]",
    "    if not found then return -2 end",
    "    return found[2]",
    "  end",
    "  if somebodys and not mine then return -1 end",
    "  local fields = {}",
    "  for i = first, #ARGV do fields[#fields + 1] = ARGV[i] end",
    "  return fields",
    "end",
    "local fields = heldFields(KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[10], 11)",
    "if type(fields) == 'number' then return fields end",
    "local now = nowMs()",
    "local _, notes = split(fields)",
    "local firstFailed = notes['x-first-failed']",
    "if not firstFailed and ARGV[7] ~= '0' then firstFailed = text(now) end",
    "fields = noted(fields, ARGV[6], ARGV[7], ARGV[8], firstFailed)",
    "if ARGV[4] == '0' then",
    "  redis.call('XADD', KEYS[4], '*', unpack(fields))",
    "  keep(KEYS[4], ARGV[9])",
    "else",
    "  redis.call('HSET', KEYS[3], ARGV[6], cmsgpack.pack(fields))",
    "  redis.call('ZADD', KEYS[2], text(now + ARGV[4]), ARGV[6])",
    "  keep(KEYS[3], text(ARGV[4] + ARGV[9]))",
    "  keep(KEYS[2], text(ARGV[4] + ARGV[9]))",
    "end",
    "redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])",
    "if ARGV[5] == '1' then redis.call('XDEL', KEYS[1], ARGV[3]) end",
    "return 1",
  ].join('\n'),
};

/**
 * Gives messages that were delivered to a group that is ordered by key to the lanes of their keys. Whoever they were delivered to,
 * they are taken in the order of the stream: what is delivered and not yet in its lane is pending.
 *
 * - `KEYS[1]` stream
 * - `KEYS[2]` retries
 * - `KEYS[3]` due
 * - `KEYS[4]` lanes: lane -> original id of the message whose turn it is
 * - `KEYS[5]` parked: those that wait for their turn
 * - `ARGV[1]` group
 * - `ARGV[2]` limit
 * - `ARGV[3]` ttlMs: of what the group keeps
 * - returns waiting: those that no consumer has yet; trimmed: of `routed`, those that were gone from the stream; orphans: above 0 when lanes have lost the message whose turn it is
 */
export const routeScript: Script<[stream: string, retries: string, due: string, lanes: string, parked: string], [group: string, limit: number, ttlMs: number], [routed: number, waiting: number, trimmed: number, orphans: number]> = {
  name: 'stream.route',
  sha: 'acc4f863dd1110037cdba51b19134904b655b74d',
  effect: 'idempotent',
  lua: [
    "local NOTES = { ['x-original-id'] = true, ['x-attempt'] = true, ['x-first-failed'] = true, ['x-deliveries'] = true }",
    "local function split(fields)",
    "  local own, notes = {}, {}",
    "  for i = 1, #fields, 2 do",
    "    if NOTES[fields[i]] then",
    "      notes[fields[i]] = fields[i + 1]",
    "    else",
    "      own[#own + 1] = fields[i]",
    "      own[#own + 1] = fields[i + 1]",
    "    end",
    "  end",
    "  return own, notes",
    "end",
    "local function noted(fields, originalId, attempt, deliveries, firstFailed)",
    "  local own = split(fields)",
    "  local notes = { 'x-original-id', originalId, 'x-attempt', attempt, 'x-deliveries', deliveries }",
    "  if firstFailed then",
    "    notes[#notes + 1] = 'x-first-failed'",
    "    notes[#notes + 1] = firstFailed",
    "  end",
    "  for _, value in ipairs(notes) do own[#own + 1] = value end",
    "  return own",
    "end",
    "local function keep(key, ttl)",
    "  if redis.call('PTTL', key) < tonumber(ttl) then redis.call('PEXPIRE', key, ttl) end",
    "end",
    "local function valueOf(fields, name)",
    "  for i = 1, #fields, 2 do",
    "    if fields[i] == name then return fields[i + 1] end",
    "  end",
    "end",
    "local function laneOf(fields, originalId)",
    "  local key = valueOf(fields, 'key')",
    "  return redis.sha1hex(key and key ~= '' and 'key ' .. key or 'id ' .. originalId)",
    "end",
    "local function parkedName(lane, originalId)",
    "  local ms, seq = string.match(originalId, '^(%d+)%-(%d+)$')",
    "  return lane .. string.rep('0', 20 - #ms) .. ms .. string.rep('0', 20 - #seq) .. seq",
    "end",
    "local function rangeOf(lane) return '[' .. lane, '(' .. lane .. ':' end",
    "local function parkedFields(member) return cmsgpack.unpack(string.sub(member, 81)) end",
    "local function enter(lanes, parked, retries, originalId, fields)",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HSETNX', lanes, lane, originalId) == 1 then",
    "    redis.call('XADD', retries, '*', unpack(fields))",
    "  else",
    "    redis.call('ZADD', parked, 0, parkedName(lane, originalId) .. cmsgpack.pack(fields))",
    "  end",
    "end",
    "local function passOn(lanes, parked, retries, lane)",
    "  local first, last = rangeOf(lane)",
    "  local next = redis.call('ZRANGE', parked, first, last, 'BYLEX', 'LIMIT', 0, 1)[1]",
    "  if not next then",
    "    redis.call('HDEL', lanes, lane)",
    "    return",
    "  end",
    "  local fields = parkedFields(next)",
    "  redis.call('ZREM', parked, next)",
    "  redis.call('HSET', lanes, lane, valueOf(fields, 'x-original-id'))",
    "  redis.call('XADD', retries, '*', unpack(fields))",
    "end",
    "local function finish(lanes, parked, retries, id, fields)",
    "  local originalId = valueOf(fields, 'x-original-id') or id",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HGET', lanes, lane) == originalId then passOn(lanes, parked, retries, lane) end",
    "end",
    "local held = redis.call('XPENDING', KEYS[2], ARGV[1])[1]",
    "local records = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', ARGV[2])",
    "local ids, trimmed = {}, 0",
    "if #records > 0 then",
    "  local bodies = {}",
    "  for _, entry in ipairs(redis.call('XRANGE', KEYS[1], records[1][1], records[#records][1], 'COUNT', #records)) do",
    "    bodies[entry[1]] = entry[2]",
    "  end",
    "  for i, record in ipairs(records) do",
    "    local id = record[1]",
    "    local fields = bodies[id] or (redis.call('XRANGE', KEYS[1], id, id)[1] or {})[2]",
    "    if fields then",
    "      enter(KEYS[4], KEYS[5], KEYS[2], id, noted(fields, id, '0', '0'))",
    "    else",
    "      trimmed = trimmed + 1",
    "    end",
    "    ids[i] = id",
    "  end",
    "  redis.call('XACK', KEYS[1], ARGV[1], unpack(ids))",
    "  for i = 2, 5 do keep(KEYS[i], ARGV[3]) end",
    "end",
    "local inRetries = redis.call('XLEN', KEYS[2])",
    "local waiting = redis.call('ZCARD', KEYS[5]) + math.max(0, inRetries - held)",
    "return { #ids, waiting, trimmed, redis.call('HLEN', KEYS[4]) - inRetries - redis.call('ZCARD', KEYS[3]) }",
  ].join('\n'),
};

/**
 * Counts the start of an entry that was delivered before.
 *
 * - `KEYS[1]` source: the stream or the retries of the group
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3]` id
 * - `ARGV[4]` deliveries: the count to set
 * - returns -1 when the consumer does not hold it, 0 when it was trimmed from the stream
 */
export const startScript: Script<[source: string], [group: string, consumer: string, id: string, deliveries: number], -1 | 0 | 1> = {
  name: 'stream.start',
  sha: 'b40625a7f2cc5cd0a1f869937094ed267caa34b3',
  effect: 'idempotent',
  lua: [
    "local function owned(stream, group, consumer, id)",
    "  local record = redis.call('XPENDING', stream, group, id, id, 1)[1]",
    "  if not record then return false, false end",
    "  if record[2] ~= consumer then return false, true end",
    "  return record, true",
    "end",
    "if not owned(KEYS[1], ARGV[1], ARGV[2], ARGV[3]) then return -1 end",
    "return #redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'RETRYCOUNT', ARGV[4], 'JUSTID')",
  ].join('\n'),
};

/**
 * One sign of life of a reader: notes it among the members, removes members that are silent and have nothing pending, stores
 * how far the group has finished, and keeps what lies beside the stream from expiring.
 *
 * - `KEYS[1]` stream
 * - `KEYS[2]` members: consumer -> server time until which it counts as alive, milliseconds
 * - `KEYS[3]` floor: position below which the group has finished everything
 * - `KEYS[4...]` kept: the retries, and what else expires when no member lives
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3]` aliveMs: time after which a member that is silent no longer counts
 * - `ARGV[4]` membersTtlMs
 * - `ARGV[5]` ttlMs: of the rest
 * - returns 0 when the group is missing
 */
export const tickScript: Script<[stream: string, members: string, floor: string, ...kept: string[]], [group: string, consumer: string, aliveMs: number, membersTtlMs: number, ttlMs: number], 0 | 1> = {
  name: 'stream.tick',
  sha: 'b70214b76597bd5c571d329cc5c76078a62a7ce5',
  effect: 'idempotent',
  lua: [
    "local function nowMs()",
    "  local time = redis.call('TIME')",
    "  return time[1] * 1000 + math.floor(time[2] / 1000)",
    "end",
    "local function text(number) return string.format('%.0f', number) end",
    "local function parts(id)",
    "  local ms, seq = string.match(id, '^(%d+)-(%d+)$')",
    "  return ms, seq",
    "end",
    "local function less(a, b)",
    "  local ams, aseq = parts(a)",
    "  local bms, bseq = parts(b)",
    "  if ams ~= bms then return tonumber(ams) < tonumber(bms) end",
    "  return tonumber(aseq) < tonumber(bseq)",
    "end",
    "local function before(id)",
    "  local ms, seq = parts(id)",
    "  if seq ~= '0' and #seq <= 15 then return ms .. '-' .. string.format('%.0f', tonumber(seq) - 1) end",
    "  if ms == '0' then return '0-0' end",
    "  return string.format('%.0f', tonumber(ms) - 1) .. '-18446744073709551615'",
    "end",
    "local function field(info, name)",
    "  for i = 1, #info, 2 do",
    "    if info[i] == name then return info[i + 1] end",
    "  end",
    "end",
    "local function reap(stream, retries, members, group, consumer)",
    "  for _, key in ipairs({ stream, retries }) do",
    "    local pending = redis.pcall('XPENDING', key, group, '-', '+', 1, consumer)",
    "    if not pending.err and #pending > 0 then return 0 end",
    "  end",
    "  redis.pcall('XGROUP', 'DELCONSUMER', stream, group, consumer)",
    "  redis.pcall('XGROUP', 'DELCONSUMER', retries, group, consumer)",
    "  redis.call('ZREM', members, consumer)",
    "  return 1",
    "end",
    "local function keep(key, ttl)",
    "  if redis.call('PTTL', key) < tonumber(ttl) then redis.call('PEXPIRE', key, ttl) end",
    "end",
    "local now = nowMs()",
    "for i = 4, #KEYS do keep(KEYS[i], ARGV[5]) end",
    "redis.call('ZADD', KEYS[2], text(now + ARGV[3]), ARGV[2])",
    "redis.call('PEXPIRE', KEYS[2], ARGV[4])",
    "local first = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', 1)",
    "if first.err then return 0 end",
    "local floor",
    "if first[1] then",
    "  floor = before(first[1][1])",
    "else",
    "  for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do",
    "    if field(info, 'name') == ARGV[1] then floor = field(info, 'last-delivered-id') end",
    "  end",
    "end",
    "redis.call('SET', KEYS[3], floor, 'PX', ARGV[5])",
    "for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', text(now), 'LIMIT', 0, 10)) do",
    "  reap(KEYS[1], KEYS[4], KEYS[2], ARGV[1], member)",
    "end",
    "return 1",
  ].join('\n'),
};

/**
 * Removes the oldest entries above the retention that every group has finished, whole nodes of them. A group that nobody has
 * served for long no longer holds anything back.
 *
 * - `KEYS[1]` stream
 * - `KEYS[2]` meta: group -> since when it has had no member; 'trimmed' -> time of the last look
 * - `KEYS[3...]` members: of the groups, in their order
 * - `ARGV[1]` maxLen: entries that stay
 * - `ARGV[2]` maxAgeMs: entries older than that may go too; 0: no limit
 * - `ARGV[3]` abandonAfterMs
 * - `ARGV[4]` intervalMs: at most one look in that time; 0: look in any case
 * - `ARGV[5]` limit: most entries of one call
 * - `ARGV[6...]` groups
 * - returns removed: -1 when somebody has looked lately
 */
export const trimScript: Script<[stream: string, meta: string, ...members: string[]], [maxLen: number, maxAgeMs: number, abandonAfterMs: number, intervalMs: number, limit: number, ...groups: string[]], [removed: number, length: number, abandoned: string[]]> = {
  name: 'stream.trim',
  sha: 'b4108da43d9411d0fe305edd0105baa7ae912a46',
  effect: 'idempotent',
  lua: [
    "local function nowMs()",
    "  local time = redis.call('TIME')",
    "  return time[1] * 1000 + math.floor(time[2] / 1000)",
    "end",
    "local function text(number) return string.format('%.0f', number) end",
    "local function parts(id)",
    "  local ms, seq = string.match(id, '^(%d+)-(%d+)$')",
    "  return ms, seq",
    "end",
    "local function less(a, b)",
    "  local ams, aseq = parts(a)",
    "  local bms, bseq = parts(b)",
    "  if ams ~= bms then return tonumber(ams) < tonumber(bms) end",
    "  return tonumber(aseq) < tonumber(bseq)",
    "end",
    "local function before(id)",
    "  local ms, seq = parts(id)",
    "  if seq ~= '0' and #seq <= 15 then return ms .. '-' .. string.format('%.0f', tonumber(seq) - 1) end",
    "  if ms == '0' then return '0-0' end",
    "  return string.format('%.0f', tonumber(ms) - 1) .. '-18446744073709551615'",
    "end",
    "local function field(info, name)",
    "  for i = 1, #info, 2 do",
    "    if info[i] == name then return info[i + 1] end",
    "  end",
    "end",
    "local now = nowMs()",
    "local length = redis.call('XLEN', KEYS[1])",
    "if ARGV[4] ~= '0' then",
    "  local last = redis.call('HGET', KEYS[2], '~trimmed')",
    "  if last and now - last < tonumber(ARGV[4]) then return { -1, length, {} } end",
    "end",
    "local members = {}",
    "for i = 6, #ARGV do members[ARGV[i]] = KEYS[i - 3] end",
    "local function silence(group)",
    "  if not members[group] then return 0 end",
    "  if redis.call('ZCOUNT', members[group], text(now), '+inf') > 0 then return 0 end",
    "  local least",
    "  for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], group)) do",
    "    local idle = field(consumer, 'idle')",
    "    if not least or idle < least then least = idle end",
    "  end",
    "  if least then return least end",
    "  redis.call('HSETNX', KEYS[2], 'group:' .. group, text(now))",
    "  return now - redis.call('HGET', KEYS[2], 'group:' .. group)",
    "end",
    "local low, abandoned = nil, {}",
    "local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])",
    "if groups.err then groups = {} end",
    "for _, info in ipairs(groups) do",
    "  local name = field(info, 'name')",
    "  local silent = silence(name)",
    "  if silent == 0 then redis.call('HDEL', KEYS[2], 'group:' .. name) end",
    "  if silent >= tonumber(ARGV[3]) then",
    "    abandoned[#abandoned + 1] = name",
    "  else",
    "    local pending = redis.call('XPENDING', KEYS[1], name, '-', '+', 1)[1]",
    "    local position = pending and pending[1] or field(info, 'last-delivered-id')",
    "    if not low or less(position, low) then low = position end",
    "  end",
    "end",
    "redis.call('HSET', KEYS[2], '~trimmed', text(now))",
    "redis.call('PEXPIRE', KEYS[2], text(2 * ARGV[3]))",
    "if not low and #abandoned > 0 then low = field(redis.call('XINFO', 'STREAM', KEYS[1]), 'last-generated-id') end",
    "if not low then return { 0, length, abandoned } end",
    "local removed = 0",
    "local excess = length - ARGV[1]",
    "if excess > 0 then removed = redis.call('XTRIM', KEYS[1], 'MINID', '~', low, 'LIMIT', math.min(excess, ARGV[5])) end",
    "if ARGV[2] ~= '0' then",
    "  local oldest = text(now - ARGV[2]) .. '-0'",
    "  if less(low, oldest) then oldest = low end",
    "  removed = removed + redis.call('XTRIM', KEYS[1], 'MINID', '~', oldest, 'LIMIT', ARGV[5])",
    "end",
    "return { removed, length - removed, abandoned }",
  ].join('\n'),
};

/**
 * Whether a message of a group that is ordered by key is still under way: whose turn it is only who is done with it can end.
 *
 * - `KEYS[1]` lanes: lane -> original id of the message whose turn it is
 * - `ARGV[1]` key: '' for none
 * - `ARGV[2]` originalId
 * - returns 1 when it is its turn
 */
export const turnScript: Script<[lanes: string], [key: string, originalId: string], 0 | 1> = {
  name: 'stream.turn',
  sha: '31bf845c237c689ff7e627c62cefcd8ad8219022',
  effect: 'read',
  lua: [
    "local function valueOf(fields, name)",
    "  for i = 1, #fields, 2 do",
    "    if fields[i] == name then return fields[i + 1] end",
    "  end",
    "end",
    "local function laneOf(fields, originalId)",
    "  local key = valueOf(fields, 'key')",
    "  return redis.sha1hex(key and key ~= '' and 'key ' .. key or 'id ' .. originalId)",
    "end",
    "local function parkedName(lane, originalId)",
    "  local ms, seq = string.match(originalId, '^(%d+)%-(%d+)$')",
    "  return lane .. string.rep('0', 20 - #ms) .. ms .. string.rep('0', 20 - #seq) .. seq",
    "end",
    "local function rangeOf(lane) return '[' .. lane, '(' .. lane .. ':' end",
    "local function parkedFields(member) return cmsgpack.unpack(string.sub(member, 81)) end",
    "local function enter(lanes, parked, retries, originalId, fields)",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HSETNX', lanes, lane, originalId) == 1 then",
    "    redis.call('XADD', retries, '*', unpack(fields))",
    "  else",
    "    redis.call('ZADD', parked, 0, parkedName(lane, originalId) .. cmsgpack.pack(fields))",
    "  end",
    "end",
    "local function passOn(lanes, parked, retries, lane)",
    "  local first, last = rangeOf(lane)",
    "  local next = redis.call('ZRANGE', parked, first, last, 'BYLEX', 'LIMIT', 0, 1)[1]",
    "  if not next then",
    "    redis.call('HDEL', lanes, lane)",
    "    return",
    "  end",
    "  local fields = parkedFields(next)",
    "  redis.call('ZREM', parked, next)",
    "  redis.call('HSET', lanes, lane, valueOf(fields, 'x-original-id'))",
    "  redis.call('XADD', retries, '*', unpack(fields))",
    "end",
    "local function finish(lanes, parked, retries, id, fields)",
    "  local originalId = valueOf(fields, 'x-original-id') or id",
    "  local lane = laneOf(fields, originalId)",
    "  if redis.call('HGET', lanes, lane) == originalId then passOn(lanes, parked, retries, lane) end",
    "end",
    "return redis.call('HGET', KEYS[1], laneOf({ 'key', ARGV[1] }, ARGV[2])) == ARGV[2] and 1 or 0",
  ].join('\n'),
};
