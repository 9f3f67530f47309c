// Generated from lua/*.lua by `npm run lua`; do not edit.
import type { Script } from '../scripting/index.js';

/**
 * Acknowledges entries that had failed before, and forgets their counts.
 *
 * - `KEYS[1]` stream
 * - `KEYS[2]` tries: failed attempts by entry id
 * - `ARGV[1]` group
 * - `ARGV[2...]` ids
 * - returns how many were pending
 */
export const ackRetriedScript: Script<[stream: string, tries: string], [group: string, ...ids: string[]], number> = {
  name: 'stream.ack-retried',
  sha: 'ab30d2974b9f1898aea50334bc46b0b3ca46754d',
  effect: 'idempotent',
  lua: [
    "local acknowledged = 0",
    "for i = 2, #ARGV do",
    "  acknowledged = acknowledged + redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])",
    "  redis.call('HDEL', KEYS[2], ARGV[i])",
    "end",
    "return acknowledged",
  ].join('\n'),
};

/**
 * Takes over pending entries whose consumer has let their lease end. No delivery is counted: that happens when one starts.
 *
 * - `KEYS[1]` stream
 * - `KEYS[2]` tries: failed attempts by entry id
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3]` leaseMs
 * - `ARGV[4]` cursor: where the previous call ended
 * - `ARGV[5]` count: most entries to take
 */
export const claimScript: Script<[stream: string, tries: string], [group: string, consumer: string, leaseMs: number, cursor: string, count: number], [cursor: string, entries: [id: string, deliveries: number, failures: number, fields: string[]][], trimmed: number]> = {
  name: 'stream.claim',
  sha: '02516e6355b27bac5bb5cbb4661df97034514287',
  effect: 'idempotent',
  lua: [
    "local function describe(stream, tries, id, deliveries)",
    "  local found = redis.call('XRANGE', stream, id, id)[1]",
    "  if not found then return false end",
    "  return { id, deliveries, tonumber(redis.call('HGET', tries, id) or '0'), found[2] }",
    "end",
    "local reply = redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], 'COUNT', ARGV[5], 'JUSTID')",
    "local entries = {}",
    "for _, id in ipairs(reply[2]) do",
    "  local record = redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1)[1]",
    "  local entry = record and describe(KEYS[1], KEYS[2], id, record[4])",
    "  if entry then entries[#entries + 1] = entry end",
    "end",
    "return { reply[1], entries, #(reply[3] or {}) }",
  ].join('\n'),
};

/**
 * Moves an entry to the dead letters of its group, if the consumer still holds it. A repetition finds it acknowledged.
 *
 * - `KEYS[1]` stream
 * - `KEYS[2]` deadLetters
 * - `KEYS[3]` tries: failed attempts by entry id
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3]` id
 * - `ARGV[4]` fromMemory: 1: the entry was trimmed from the stream, its original fields are among `fields`
 * - `ARGV[5]` maxLen: of the dead letters, about
 * - `ARGV[6]` maxAgeMs: of a dead letter
 * - `ARGV[7...]` fields: names and values
 * - returns -2 when the fields must come from memory, -1 when the consumer does not hold it, else its new id
 */
export const deadLetterScript: Script<[stream: string, deadLetters: string, tries: string], [group: string, consumer: string, id: string, fromMemory: number, maxLen: number, maxAgeMs: number, ...fields: string[]], number | string> = {
  name: 'stream.dead-letter',
  sha: '4b9b3fbf77c773de811d9814d4ea01e114f931dc',
  effect: 'idempotent',
  lua: [
    "local function owned(stream, group, consumer, id)",
    "  local record = redis.call('XPENDING', stream, group, id, id, 1)[1]",
    "  if not record then return false, false end",
    "  if record[2] ~= consumer then return false, true end",
    "  return record, true",
    "end",
    "local mine, somebodys = owned(KEYS[1], ARGV[1], ARGV[2], ARGV[3])",
    "local fields = {}",
    "if ARGV[4] == '0' then",
    "  if not mine then return -1 end",
    "  local found = redis.call('XRANGE', KEYS[1], ARGV[3], ARGV[3])[1]",
    "  if not found then return -2 end",
    "  fields = found[2]",
    "elseif somebodys and not mine then",
    "  return -1",
    "end",
    "for i = 7, #ARGV do fields[#fields + 1] = ARGV[i] end",
    "local time = redis.call('TIME')",
    "local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))",
    "fields[#fields + 1] = 'x-dlq-at'",
    "fields[#fields + 1] = now",
    "local added = redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*', unpack(fields))",
    "redis.call('XTRIM', KEYS[2], 'MINID', '~', string.format('%.0f', now - ARGV[6]))",
    "redis.call('PEXPIRE', KEYS[2], ARGV[6])",
    "redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])",
    "redis.call('HDEL', KEYS[3], ARGV[3])",
    "return added",
  ].join('\n'),
};

/**
 * Creates the group of a reader where it is missing. A group that existed before is put where it stood: never at the end
 * of the stream, and at its beginning when the stream itself was lost.
 *
 * - `KEYS[1]` stream
 * - `KEYS[2]` floor: position below which the group had finished everything
 * - `ARGV[1]` group
 * - `ARGV[2]` startFrom: '$', or the id after which a new group begins
 * - `ARGV[3]` held: lowest id that the reader holds, or ''
 * - `ARGV[4]` seen: highest id that the reader was given, or ''
 * - returns the position at which the group was created; '' when it was there
 */
export const ensureGroupScript: Script<[stream: string, floor: string], [group: string, startFrom: string, held: string, seen: string], string> = {
  name: 'stream.ensure-group',
  sha: '0c314c7214bc62f66f1edfa794aa664506e2ac93',
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
    "local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])",
    "if not groups.err then",
    "  for _, info in ipairs(groups) do",
    "    if field(info, 'name') == ARGV[1] then return '' end",
    "  end",
    "end",
    "local last = '0-0'",
    "if redis.call('EXISTS', KEYS[1]) == 1 then last = field(redis.call('XINFO', 'STREAM', KEYS[1]), 'last-generated-id') end",
    "local stood = redis.call('GET', KEYS[2])",
    "if not stood and ARGV[3] ~= '' then stood = before(ARGV[3]) end",
    "if not stood and ARGV[4] ~= '' then stood = ARGV[4] end",
    "local position = stood or ARGV[2]",
    "if stood and less(last, stood) then position = '0-0' end",
    "if position == '$' then position = last end",
    "redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], position, 'MKSTREAM')",
    "return position",
  ].join('\n'),
};

/**
 * Notes a failed attempt, so that the count survives the process.
 *
 * - `KEYS[1]` stream
 * - `KEYS[2]` tries: failed attempts by entry id
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3]` id
 * - `ARGV[4]` failures: the count to set
 * - `ARGV[5]` ttlMs: of the counts
 * - returns -1 when the consumer does not hold the entry
 */
export const failScript: Script<[stream: string, tries: string], [group: string, consumer: string, id: string, failures: number, ttlMs: number], -1 | 1> = {
  name: 'stream.fail',
  sha: '253de4dc1079aee1407ac70a2a9a52808ff85132',
  effect: 'idempotent',
  lua: [
    "local function owned(stream, group, consumer, id)",
    "  local record = redis.call('XPENDING', stream, group, id, id, 1)[1]",
    "  if not record then return false, false end",
    "  if record[2] ~= consumer then return false, true end",
    "  return record, true",
    "end",
    "if not owned(KEYS[1], ARGV[1], ARGV[2], ARGV[3]) then return -1 end",
    "redis.call('HSET', KEYS[2], ARGV[3], ARGV[4])",
    "redis.call('PEXPIRE', KEYS[2], ARGV[5])",
    "return 1",
  ].join('\n'),
};

/**
 * Where a group stands, for metrics.
 *
 * - `KEYS[1]` stream
 * - `ARGV[1]` group
 * - returns entries that were not delivered yet, -1 when nobody can tell; entries that are pending; the age of the oldest of those, milliseconds
 */
export const lagScript: Script<[stream: string], [group: string], [number, number, number]> = {
  name: 'stream.lag',
  sha: '3658120bdd708d327e46f46fbd5f4c3ef677ca32',
  effect: 'read',
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
    "local lag, pending = -1, 0",
    "local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])",
    "if groups.err then return { lag, pending, 0 } end",
    "for _, info in ipairs(groups) do",
    "  if field(info, 'name') == ARGV[1] then",
    "    lag = field(info, 'lag') or -1",
    "    pending = field(info, 'pending')",
    "  end",
    "end",
    "if pending == 0 then return { lag, pending, 0 } end",
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local first = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1)",
    "if not first[1] then return { lag, pending, 0 } end",
    "return { lag, pending, math.max(0, now - tonumber(string.match(first[1][1], '^%d+'))) }",
  ].join('\n'),
};

/**
 * Removes a consumer that has nothing pending.
 *
 * - `KEYS[1]` stream
 * - `KEYS[2]` members
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - returns 0 when it has entries pending, and stays until they are done elsewhere
 */
export const leaveScript: Script<[stream: string, members: string], [group: string, consumer: string], 0 | 1> = {
  name: 'stream.leave',
  sha: 'abc46bf76fdd1deec10e5b69aaab844b85fe4d8a',
  effect: 'idempotent',
  lua: [
    "if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) > 0 then return 0 end",
    "redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])",
    "redis.call('ZREM', KEYS[2], ARGV[2])",
    "return 1",
  ].join('\n'),
};

/**
 * Gives the bodies of entries that are pending for the consumer and that it does not have, because a reply was lost.
 *
 * - `KEYS[1]` stream
 * - `KEYS[2]` tries: failed attempts by entry id
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3...]` ids
 */
export const recoverScript: Script<[stream: string, tries: string], [group: string, consumer: string, ...ids: string[]], [entries: [id: string, deliveries: number, failures: number, fields: string[]][], trimmed: number]> = {
  name: 'stream.recover',
  sha: '754c18a694161b26434c555f037921c82c5777c1',
  effect: 'idempotent',
  lua: [
    "local function owned(stream, group, consumer, id)",
    "  local record = redis.call('XPENDING', stream, group, id, id, 1)[1]",
    "  if not record then return false, false end",
    "  if record[2] ~= consumer then return false, true end",
    "  return record, true",
    "end",
    "local function describe(stream, tries, id, deliveries)",
    "  local found = redis.call('XRANGE', stream, id, id)[1]",
    "  if not found then return false end",
    "  return { id, deliveries, tonumber(redis.call('HGET', tries, id) or '0'), found[2] }",
    "end",
    "local entries, trimmed = {}, 0",
    "for i = 3, #ARGV do",
    "  local record = owned(KEYS[1], ARGV[1], ARGV[2], ARGV[i])",
    "  if record then",
    "    local entry = describe(KEYS[1], KEYS[2], ARGV[i], record[4])",
    "    if entry then",
    "      redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'JUSTID')",
    "      entries[#entries + 1] = entry",
    "    else",
    "      redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])",
    "      redis.call('HDEL', KEYS[2], ARGV[i])",
    "      trimmed = trimmed + 1",
    "    end",
    "  end",
    "end",
    "return { entries, trimmed }",
  ].join('\n'),
};

/**
 * Lets the leases of all entries that are pending for a consumer end now, except of those named: others may claim them at
 * once. No delivery is counted.
 *
 * - `KEYS[1]` stream
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3]` idleMs: how long they shall seem to have been idle
 * - `ARGV[4...]` kept: ids whose leases stay
 * - returns how many were released
 */
export const releaseScript: Script<[stream: string], [group: string, consumer: string, idleMs: number, ...kept: string[]], number> = {
  name: 'stream.release',
  sha: '0b5db5c3d546dbb47c183d17e9a16d0b3a0c44b6',
  effect: 'idempotent',
  lua: [
    "local kept = {}",
    "for i = 4, #ARGV do kept[ARGV[i]] = true end",
    "local from, released = '-', 0",
    "while true do",
    "  local page = redis.call('XPENDING', KEYS[1], ARGV[1], from, '+', 500, ARGV[2])",
    "  for _, record in ipairs(page) do",
    "    if not kept[record[1]] then",
    "      redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, record[1], 'IDLE', ARGV[3], 'JUSTID')",
    "      released = released + 1",
    "    end",
    "    from = '(' .. record[1]",
    "  end",
    "  if #page < 500 then return released end",
    "end",
  ].join('\n'),
};

/**
 * Renews the leases of entries that the consumer still holds.
 *
 * - `KEYS[1]` stream
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3...]` ids
 * - returns ids that belong to nobody or to another consumer; ids trimmed from the stream
 */
export const renewScript: Script<[stream: string], [group: string, consumer: string, ...ids: string[]], [lost: string[], gone: string[]]> = {
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
 * Counts the start of an entry that was delivered before.
 *
 * - `KEYS[1]` stream
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3]` id
 * - `ARGV[4]` deliveries: the count to set
 * - returns -1 when the consumer does not hold it, 0 when it was trimmed from the stream
 */
export const startScript: Script<[stream: string], [group: string, consumer: string, id: string, deliveries: number], -1 | 0 | 1> = {
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
 * One sign of life of a reader: notes it among the members, removes members that are silent and have nothing pending, and
 * stores how far the group has finished.
 *
 * - `KEYS[1]` stream
 * - `KEYS[2]` members: consumer -> server time of its last tick, milliseconds
 * - `KEYS[3]` floor: position below which the group has finished everything
 * - `ARGV[1]` group
 * - `ARGV[2]` consumer
 * - `ARGV[3]` reapAfterMs: silence after which a member without pending entries is removed
 * - `ARGV[4]` membersTtlMs
 * - `ARGV[5]` floorTtlMs
 * - returns 0 when the group is missing
 */
export const tickScript: Script<[stream: string, members: string, floor: string], [group: string, consumer: string, reapAfterMs: number, membersTtlMs: number, floorTtlMs: number], 0 | 1> = {
  name: 'stream.tick',
  sha: '6131ffcecf9acbd11257b086388f6bf47b9e2a7a',
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
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "redis.call('ZADD', KEYS[2], now, ARGV[2])",
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
    "for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[3], 'LIMIT', 0, 10)) do",
    "  if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, member) == 0 then",
    "    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], member)",
    "    redis.call('ZREM', KEYS[2], member)",
    "  end",
    "end",
    "return 1",
  ].join('\n'),
};
