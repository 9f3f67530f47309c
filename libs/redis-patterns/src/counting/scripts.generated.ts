// Generated from lua/*.lua by `npm run lua`; do not edit.
import type { Script } from '../scripting/index.js';

/**
 * Counts ids.
 *
 * - `KEYS[1]` exact: set of the ids
 * - `KEYS[2]` estimate: HyperLogLog of the ids
 * - `ARGV[1]` from: begin of the bucket that is meant to be the present one
 * - `ARGV[2]` to: its end; 0: whatever the time is
 * - `ARGV[3]` strategy: in what is counted
 * - `ARGV[4]` bucketEnd: 0 without buckets
 * - `ARGV[5]` ttl: milliseconds
 * - `ARGV[6]` exactLimit: `auto`: largest count that is kept exactly
 * - `ARGV[7...]` ids: at most 1000
 * - returns whether the count is another one
 */
export const addScript: Script<[exact: string, estimate: string], [from: number, to: number, strategy: 'auto' | 'set' | 'hll', bucketEnd: number, ttl: number, exactLimit: number, ...ids: string[]], [state: 'moved', now: string] | [state: 'expired'] | [state: 'strategy'] | [state: 'ok', changed: 0 | 1]> = {
  name: 'counting.add',
  sha: 'd7a4d06e3cd583d90857c24a51b33b59354eac7c',
  effect: 'idempotent',
  lua: [
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local from, to = tonumber(ARGV[1]), tonumber(ARGV[2])",
    "if to > 0 and (now < from or now >= to) then",
    "  return { 'moved', string.format('%.0f', now) }",
    "end",
    "local bucketEnd, ttl = ARGV[4], ARGV[5]",
    "local expiresAt = (tonumber(bucketEnd) > 0 and bucketEnd or now) + ttl",
    "if expiresAt <= now then",
    "  return { 'expired' }",
    "end",
    "expiresAt = string.format('%.0f', expiresAt)",
    "local strategy = ARGV[3]",
    "local set, hll = redis.call('EXISTS', KEYS[1]) == 1, redis.call('EXISTS', KEYS[2]) == 1",
    "if strategy == 'set' and hll or strategy ~= 'set' and set and not hll then return { 'strategy' } end",
    "local exact = strategy == 'set' or strategy == 'auto' and (set or not hll)",
    "local changed = 0",
    "if strategy ~= 'set' then changed = redis.call('PFADD', KEYS[2], unpack(ARGV, 7)) end",
    "if exact then",
    "  changed = math.min(redis.call('SADD', KEYS[1], unpack(ARGV, 7)), 1)",
    "  if strategy == 'auto' and redis.call('SCARD', KEYS[1]) > tonumber(ARGV[6]) then redis.call('UNLINK', KEYS[1]) end",
    "end",
    "redis.call('PEXPIREAT', KEYS[1], expiresAt)",
    "redis.call('PEXPIREAT', KEYS[2], expiresAt)",
    "return { 'ok', changed }",
  ].join('\n'),
};

/**
 * Adds items to a Bloom filter, all of them or none.
 *
 * - `KEYS[1]` header: hash: bits and hashes, chunks, expires (ms), items, and chunk:<n> of each that was created
 * - `KEYS[2...]` chunks: bitmaps
 * - `ARGV[1]` bits: of one chunk
 * - `ARGV[2]` hashes: bits that an item sets
 * - `ARGV[3]` ttl: milliseconds from the creation on
 * - `ARGV[4]` most: items that it takes, 0 for any number
 * - `ARGV[5...]` places: of each item its chunk, then its bits
 * - returns added: 1 for an item that was not in it
 */
export const bloomAddScript: Script<[header: string, ...chunks: string[]], [bits: string, hashes: string, ttl: number, most: number, ...places: number[]], [state: 'mismatch'] | [state: 'lost'] | [state: 'full'] | [state: 'ok', items: number, ...added: (0 | 1)[]]> = {
  name: 'counting.bloom-add',
  sha: '3d934c8ba3182390ccf50006013dad3043c41bef',
  effect: 'idempotent',
  lua: [
    "local function lost()",
    "  return redis.call('EXISTS', unpack(KEYS, 2)) > 0",
    "end",
    "local bits, hashes, chunks, width = ARGV[1], ARGV[2], #KEYS - 1, ARGV[2] + 1",
    "local header = redis.call('HMGET', KEYS[1], 'bits', 'hashes', 'chunks', 'expires', 'items')",
    "if header[1] and (header[1] ~= bits or header[2] ~= hashes or header[3] ~= tostring(chunks)) then return { 'mismatch' } end",
    "if not header[1] and lost() then return { 'lost' } end",
    "local alive = {}",
    "local function created(n)",
    "  if alive[n] == nil then",
    "    alive[n] = header[1] and redis.call('HEXISTS', KEYS[1], 'chunk:' .. n) == 1 or false",
    "    if alive[n] and redis.call('EXISTS', KEYS[2 + n]) == 0 then return nil end",
    "  end",
    "  return alive[n]",
    "end",
    "local function contains(i)",
    "  local n = tonumber(ARGV[i])",
    "  if not alive[n] then return false end",
    "  for b = i + 1, i + width - 1 do",
    "    if redis.call('GETBIT', KEYS[2 + n], ARGV[b]) == 0 then return false end",
    "  end",
    "  return true",
    "end",
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local expires = header[4] or string.format('%.0f', now + ARGV[3])",
    "local items, most, fresh = tonumber(header[5] or 0), tonumber(ARGV[4]), 0",
    "for i = 5, #ARGV, width do",
    "  if created(tonumber(ARGV[i])) == nil then return { 'lost' } end",
    "  if most > 0 and not contains(i) then fresh = fresh + 1 end",
    "end",
    "if most > 0 and items + fresh > most and fresh > 0 then return { 'full' } end",
    "if not header[1] then",
    "  redis.call('HSET', KEYS[1], 'bits', bits, 'hashes', hashes, 'chunks', chunks, 'expires', expires)",
    "  redis.call('PEXPIREAT', KEYS[1], expires)",
    "end",
    "local reply = { 'ok', 0 }",
    "for i = 5, #ARGV, width do",
    "  local n = tonumber(ARGV[i])",
    "  local chunk, added = KEYS[2 + n], 0",
    "  if not alive[n] then",
    "    redis.call('SETBIT', chunk, bits - 1, 0)",
    "    redis.call('PEXPIREAT', chunk, expires)",
    "    redis.call('HSET', KEYS[1], 'chunk:' .. n, 1)",
    "    alive[n] = true",
    "  end",
    "  for b = i + 1, i + width - 1 do",
    "    if redis.call('SETBIT', chunk, ARGV[b], 1) == 0 then added = 1 end",
    "  end",
    "  items = items + added",
    "  reply[#reply + 1] = added",
    "end",
    "redis.call('HSET', KEYS[1], 'items', string.format('%.0f', items))",
    "reply[2] = items",
    "return reply",
  ].join('\n'),
};

/**
 * Whether items are in a Bloom filter.
 *
 * - `KEYS[1]` header: as bloom-add
 * - `KEYS[2...]` chunks: as bloom-add
 * - `ARGV[1]` bits: as bloom-add
 * - `ARGV[2]` hashes: as bloom-add
 * - `ARGV[3...]` places: of each item its chunk, then its bits
 */
export const bloomHasScript: Script<[header: string, ...chunks: string[]], [bits: string, hashes: string, ...places: number[]], [state: 'mismatch'] | [state: 'lost'] | [state: 'ok', ...contained: (0 | 1)[]]> = {
  name: 'counting.bloom-has',
  sha: 'bcaa0a733fc4737ff37139c2711a82c4abd797bc',
  effect: 'read',
  lua: [
    "local function lost()",
    "  return redis.call('EXISTS', unpack(KEYS, 2)) > 0",
    "end",
    "local bits, hashes, chunks, width = ARGV[1], ARGV[2], #KEYS - 1, ARGV[2] + 1",
    "local header = redis.call('HMGET', KEYS[1], 'bits', 'hashes', 'chunks', 'expires', 'items')",
    "if header[1] and (header[1] ~= bits or header[2] ~= hashes or header[3] ~= tostring(chunks)) then return { 'mismatch' } end",
    "if not header[1] and lost() then return { 'lost' } end",
    "local alive = {}",
    "local function created(n)",
    "  if alive[n] == nil then",
    "    alive[n] = header[1] and redis.call('HEXISTS', KEYS[1], 'chunk:' .. n) == 1 or false",
    "    if alive[n] and redis.call('EXISTS', KEYS[2 + n]) == 0 then return nil end",
    "  end",
    "  return alive[n]",
    "end",
    "local function contains(i)",
    "  local n = tonumber(ARGV[i])",
    "  if not alive[n] then return false end",
    "  for b = i + 1, i + width - 1 do",
    "    if redis.call('GETBIT', KEYS[2 + n], ARGV[b]) == 0 then return false end",
    "  end",
    "  return true",
    "end",
    "local reply = { 'ok' }",
    "for i = 3, #ARGV, width do",
    "  if created(tonumber(ARGV[i])) == nil then return { 'lost' } end",
    "  reply[#reply + 1] = contains(i) and 1 or 0",
    "end",
    "return reply",
  ].join('\n'),
};

/**
 * How many ids there are, and whether one of them is.
 *
 * - `KEYS[1]` exact: as add
 * - `KEYS[2]` estimate: as add
 * - `ARGV[1]` from: begin of the bucket that is meant to be the present one
 * - `ARGV[2]` to: its end; 0: whatever the time is
 * - `ARGV[3]` strategy: in what is counted
 * - `ARGV[4]` id: '' to count
 * - returns with an id the value is 1 when it was added
 */
export const countScript: Script<[exact: string, estimate: string], [from: number, to: number, strategy: 'auto' | 'set' | 'hll', id: string], [state: 'moved', now: string] | [state: 'strategy'] | [state: 'ok', exact: 0 | 1, value: number]> = {
  name: 'counting.count',
  sha: '383643cc37a4f027cdf45d413fb1fdf7fa20dd67',
  effect: 'read',
  lua: [
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local from, to = tonumber(ARGV[1]), tonumber(ARGV[2])",
    "if to > 0 and (now < from or now >= to) then",
    "  return { 'moved', string.format('%.0f', now) }",
    "end",
    "local strategy = ARGV[3]",
    "local set, hll = redis.call('EXISTS', KEYS[1]) == 1, redis.call('EXISTS', KEYS[2]) == 1",
    "if strategy == 'set' and hll or strategy ~= 'set' and set and not hll then return { 'strategy' } end",
    "local exact = strategy == 'set' or strategy == 'auto' and (set or not hll)",
    "if not exact then return { 'ok', 0, ARGV[4] == '' and redis.call('PFCOUNT', KEYS[2]) or 0 } end",
    "if ARGV[4] ~= '' then return { 'ok', 1, redis.call('SISMEMBER', KEYS[1], ARGV[4]) } end",
    "return { 'ok', 1, redis.call('SCARD', KEYS[1]) }",
  ].join('\n'),
};

/**
 * Adds to a counter.
 *
 * - `KEYS[1]` counter: the count
 * - `KEYS[2...]` operation: what remembers the result, or none
 * - `ARGV[1]` from: begin of the bucket that is meant to be the present one
 * - `ARGV[2]` to: its end; 0: whatever the time is
 * - `ARGV[3]` bucketEnd: 0 without buckets
 * - `ARGV[4]` ttl: milliseconds
 * - `ARGV[5]` by: integer
 * - `ARGV[6]` operationTtl: how long the result is remembered, milliseconds
 */
export const incrScript: Script<[counter: string, ...operation: string[]], [from: number, to: number, bucketEnd: number, ttl: number, by: number, operationTtl: number], [state: 'moved', now: string] | [state: 'expired'] | [state: 'range'] | [state: 'ok', count: string]> = {
  name: 'counting.incr',
  sha: 'aa922d6f6c07bfd22c205374dff5230d4c09fe88',
  effect: 'once',
  lua: [
    "if KEYS[2] then",
    "  local known = redis.call('GET', KEYS[2])",
    "  if known then return { 'ok', known } end",
    "end",
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local from, to = tonumber(ARGV[1]), tonumber(ARGV[2])",
    "if to > 0 and (now < from or now >= to) then",
    "  return { 'moved', string.format('%.0f', now) }",
    "end",
    "local bucketEnd, ttl = ARGV[3], ARGV[4]",
    "local expiresAt = (tonumber(bucketEnd) > 0 and bucketEnd or now) + ttl",
    "if expiresAt <= now then",
    "  return { 'expired' }",
    "end",
    "expiresAt = string.format('%.0f', expiresAt)",
    "local count = tonumber(redis.call('GET', KEYS[1]) or 0) + ARGV[5]",
    "if math.abs(count) > 9007199254740991 then return { 'range' } end",
    "redis.call('INCRBY', KEYS[1], ARGV[5])",
    "redis.call('PEXPIREAT', KEYS[1], expiresAt)",
    "local text = string.format('%.0f', count)",
    "if KEYS[2] then redis.call('SET', KEYS[2], text, 'PX', ARGV[6]) end",
    "return { 'ok', text }",
  ].join('\n'),
};

/**
 * Counts of one counter or of several buckets.
 *
 * - `KEYS[1...]` counters: at most 400
 * - `ARGV[1]` from: begin of the bucket that is meant to be the present one, the last
 * - `ARGV[2]` to: its end; 0: whatever the time is
 */
export const readScript: Script<[...counters: string[]], [from: number, to: number], [state: 'moved', now: string] | [state: 'ok', ...counts: (string | null)[]]> = {
  name: 'counting.read',
  sha: '882f7d4ccca7c15da1f1b60d1a12f91d32ecb400',
  effect: 'read',
  lua: [
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local from, to = tonumber(ARGV[1]), tonumber(ARGV[2])",
    "if to > 0 and (now < from or now >= to) then",
    "  return { 'moved', string.format('%.0f', now) }",
    "end",
    "return { 'ok', unpack(redis.call('MGET', unpack(KEYS))) }",
  ].join('\n'),
};

/**
 * How many ids there are in several buckets together.
 *
 * - `KEYS[1...]` keys: the sets of all buckets, then their HyperLogLogs
 * - `ARGV[1]` from: begin of the bucket that is meant to be the present one, the last
 * - `ARGV[2]` to: its end; 0: whatever the time is
 * - `ARGV[3]` strategy: in what is counted
 * - `ARGV[4]` most: ids that are united here; more would hold up the server
 * - returns large: too many, and no estimate
 */
export const unionScript: Script<[...keys: string[]], [from: number, to: number, strategy: 'auto' | 'set' | 'hll', most: number], [state: 'moved', now: string] | [state: 'strategy'] | [state: 'large'] | [state: 'ok', exact: 0 | 1, value: number]> = {
  name: 'counting.union',
  sha: 'c0e4364a309ced53b48e7fabfff1632e4ec465e1',
  effect: 'read',
  lua: [
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local from, to = tonumber(ARGV[1]), tonumber(ARGV[2])",
    "if to > 0 and (now < from or now >= to) then",
    "  return { 'moved', string.format('%.0f', now) }",
    "end",
    "local strategy, half = ARGV[3], #KEYS / 2",
    "local sets, hlls, ids, exact = {}, {}, 0, strategy ~= 'hll'",
    "for i = 1, half do",
    "  local set, hll = redis.call('SCARD', KEYS[i]), redis.call('EXISTS', KEYS[half + i]) == 1",
    "  if strategy == 'set' and hll or strategy ~= 'set' and set > 0 and not hll then return { 'strategy' } end",
    "  if set > 0 then sets[#sets + 1] = KEYS[i] end",
    "  if hll then hlls[#hlls + 1] = KEYS[half + i] end",
    "  if hll and set == 0 then exact = false end",
    "  ids = ids + set",
    "end",
    "if not exact or ids > tonumber(ARGV[4]) and strategy ~= 'set' then",
    "  return { 'ok', 0, #hlls > 0 and redis.call('PFCOUNT', unpack(hlls)) or 0 }",
    "end",
    "if ids > tonumber(ARGV[4]) then return { 'large' } end",
    "return { 'ok', 1, #sets > 0 and #redis.call('SUNION', unpack(sets)) or 0 }",
  ].join('\n'),
};
