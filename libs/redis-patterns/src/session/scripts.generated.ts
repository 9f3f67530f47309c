// Generated from lua/*.lua by `npm run lua`; do not edit.
import type { Script } from '../scripting/index.js';

/**
 * Creates a record that does not exist yet.
 *
 * - `KEYS[1]` record: the session
 * - `ARGV[1]` hash: of its secret
 * - `ARGV[2]` idleMs: milliseconds
 * - `ARGV[3]` absoluteMs: milliseconds
 * - `ARGV[4]` principal: '' for none
 * - `ARGV[5]` turn: of the principal; 0 without one
 * - `ARGV[6...]` fields: name and text of each (variadic, last)
 * - returns 0: it is there already
 */
export const createScript: Script<[record: string], [hash: string, idleMs: number, absoluteMs: number, principal: string, turn: number, ...fields: string[]], 0 | [now: number, endsIn: number, fields: string[]]> = {
  name: 'session.create',
  sha: '522d1e3450553f1181051b87aceceea6412a20e8',
  effect: 'token',
  lua: [
    "local call = redis.call",
    "local time = call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local there = call('HGET', KEYS[1], '_h')",
    "if there and there ~= ARGV[1] then return 0 end",
    "if not there then",
    "  local idle, absolute = tonumber(ARGV[2]), tonumber(ARGV[3])",
    "  call('HSET', KEYS[1], '_h', ARGV[1], '_i', ARGV[2], '_a', now + absolute, '_c', now, '_v', 1)",
    "  if ARGV[4] ~= '' then call('HSET', KEYS[1], '_u', ARGV[4], '_t', ARGV[5]) end",
    "  for i = 6, #ARGV, 2 do",
    "    call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])",
    "  end",
    "  call('PEXPIREAT', KEYS[1], now + math.min(idle, absolute))",
    "end",
    "return { now, call('PTTL', KEYS[1]), call('HGETALL', KEYS[1]) }",
  ].join('\n'),
};

/**
 * Ends a session for who has its secret.
 *
 * - `KEYS[1]` record: the session
 * - `ARGV[1]` hash: of the secret that the caller has
 * - returns null: there is none; else its principal, '' for none
 */
export const destroyScript: Script<[record: string], [hash: string], null | string> = {
  name: 'session.destroy',
  sha: '813b8ba840de61bd74cbbe0228b91445d29695c5',
  effect: 'idempotent',
  lua: [
    "local call = redis.call",
    "local time = call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local hash, previous, grace, absolute, idle = unpack(call('HMGET', KEYS[1], '_h', '_p', '_g', '_a', '_i'))",
    "local alive = hash and tonumber(absolute) > now",
    "local current = alive and hash == ARGV[1]",
    "local valid = current or (alive and previous == ARGV[1] and tonumber(grace) > now)",
    "if not valid then return false end",
    "local principal = call('HGET', KEYS[1], '_u')",
    "call('UNLINK', KEYS[1])",
    "return principal or ''",
  ].join('\n'),
};

/**
 * Reads a session, and begins its idle time anew.
 *
 * - `KEYS[1]` record: the session
 * - `ARGV[1]` hash: of the secret that the caller has
 * - `ARGV[2]` touches: whether the idle time begins anew
 * - returns null: there is none, or the secret is not its own
 */
export const getScript: Script<[record: string], [hash: string, touches: 0 | 1], null | [now: number, endsIn: number, fields: string[]]> = {
  name: 'session.get',
  sha: '2ca70559103c11412fbded675b9ba75d570b631e',
  effect: 'idempotent',
  lua: [
    "local call = redis.call",
    "local time = call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local hash, previous, grace, absolute, idle = unpack(call('HMGET', KEYS[1], '_h', '_p', '_g', '_a', '_i'))",
    "local alive = hash and tonumber(absolute) > now",
    "local current = alive and hash == ARGV[1]",
    "local valid = current or (alive and previous == ARGV[1] and tonumber(grace) > now)",
    "local function byTheWay(...)",
    "  local reply = redis.pcall(...)",
    "  if type(reply) == 'table' and reply.err and not string.find(reply.err, 'MISCONF') and not string.find(reply.err, 'NOREPLICAS') then",
    "    error(reply)",
    "  end",
    "end",
    "local function moveEnd(key, at)",
    "  byTheWay('PEXPIREAT', key, at)",
    "end",
    "local function touch(key, idleMs, absoluteEnd)",
    "  local full = math.min(idleMs, absoluteEnd - now)",
    "  if full - call('PTTL', key) >= idleMs / 10 then moveEnd(key, now + full) end",
    "end",
    "if not valid then return false end",
    "if ARGV[2] == '1' then touch(KEYS[1], tonumber(idle), tonumber(absolute)) end",
    "return { now, call('PTTL', KEYS[1]), call('HGETALL', KEYS[1]) }",
  ].join('\n'),
};

/**
 * Enters a session once more, now that it is there: who found none meanwhile may have removed its entry.
 *
 * - `KEYS[1]` index: handle -> end of the session, server milliseconds
 * - `KEYS[2]` epoch: as enter
 * - `ARGV[1]` handle: of the session
 * - `ARGV[2]` absoluteMs: how long it lives at most, milliseconds
 * - `ARGV[3]` epoch: what was read before
 * - `ARGV[4...]` dead: handle and end of entries without a session (variadic, last)
 * - returns entries there are; 0: all sessions of the principal were ended meanwhile
 */
export const indexConfirmScript: Script<[index: string, epoch: string], [handle: string, absoluteMs: number, epoch: string, ...dead: string[]], number> = {
  name: 'session.index-confirm',
  sha: 'ee4b4011605b364a66ade754dc2db6d95c430388',
  effect: 'idempotent',
  lua: [
    "local call = redis.call",
    "local time = call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local function byTheWay(...)",
    "  local reply = redis.pcall(...)",
    "  if type(reply) == 'table' and reply.err and not string.find(reply.err, 'MISCONF') and not string.find(reply.err, 'NOREPLICAS') then",
    "    error(reply)",
    "  end",
    "end",
    "local SKEW = 300000",
    "local function prune(key)",
    "  byTheWay('ZREMRANGEBYSCORE', key, '-inf', now - SKEW)",
    "end",
    "local function put(key, handle, at)",
    "  call('ZADD', key, at, handle)",
    "  call('PEXPIREAT', key, call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] + SKEW)",
    "end",
    "for i = 4, #ARGV, 2 do",
    "  if call('ZSCORE', KEYS[1], ARGV[i]) == ARGV[i + 1] then call('ZREM', KEYS[1], ARGV[i]) end",
    "end",
    "local at = call('ZSCORE', KEYS[1], ARGV[1])",
    "put(KEYS[1], ARGV[1], (at and tonumber(at) or now + tonumber(ARGV[2])) + 1)",
    "if call('HGET', KEYS[2], 'id') ~= ARGV[3] then return 0 end",
    "return call('ZCARD', KEYS[1])",
  ].join('\n'),
};

/**
 * Enters a session into the index of its principal, before the session is there.
 *
 * - `KEYS[1]` index: handle -> end of the session, server milliseconds
 * - `KEYS[2]` epoch: hash: id, gone or another one after all sessions of the principal were ended; and the last turn
 * - `ARGV[1]` handle: of the session
 * - `ARGV[2]` absoluteMs: how long it lives at most, milliseconds
 * - `ARGV[3]` epochMs: how long the epoch is remembered, milliseconds
 * - returns turn: greater than those before; handle and end of the four that end first
 */
export const indexEnterScript: Script<[index: string, epoch: string], [handle: string, absoluteMs: number, epochMs: number], [epoch: string, turn: number, oldest: string[]]> = {
  name: 'session.index-enter',
  sha: 'b12d22123d4848ba07b6c8e92b64b9284feb8630',
  effect: 'idempotent',
  lua: [
    "local call = redis.call",
    "local time = call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local function byTheWay(...)",
    "  local reply = redis.pcall(...)",
    "  if type(reply) == 'table' and reply.err and not string.find(reply.err, 'MISCONF') and not string.find(reply.err, 'NOREPLICAS') then",
    "    error(reply)",
    "  end",
    "end",
    "local SKEW = 300000",
    "local function prune(key)",
    "  byTheWay('ZREMRANGEBYSCORE', key, '-inf', now - SKEW)",
    "end",
    "local function put(key, handle, at)",
    "  call('ZADD', key, at, handle)",
    "  call('PEXPIREAT', key, call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] + SKEW)",
    "end",
    "prune(KEYS[1])",
    "put(KEYS[1], ARGV[1], now + tonumber(ARGV[2]))",
    "local epoch, last = unpack(call('HMGET', KEYS[2], 'id', 'turn'))",
    "if not epoch then epoch = ARGV[1] end",
    "local turn = math.max(now, (last or 0) + 1)",
    "call('HSET', KEYS[2], 'id', epoch, 'turn', turn)",
    "call('PEXPIRE', KEYS[2], ARGV[3])",
    "return { epoch, turn, call('ZRANGE', KEYS[1], 0, 3, 'WITHSCORES') }",
  ].join('\n'),
};

/**
 * Removes entries whose session has ended.
 *
 * - `KEYS[1]` index: handle -> end of the session, server milliseconds
 * - `ARGV[1...]` dead: handle and end of each, as they were read; '' for any end (variadic, last)
 * - returns how many were removed
 */
export const indexLeaveScript: Script<[index: string], [...dead: string[]], number> = {
  name: 'session.index-leave',
  sha: '6f1bb593fdde04fdb9e59d3380f24c2ec0001e12',
  effect: 'idempotent',
  lua: [
    "local removed = 0",
    "for i = 1, #ARGV, 2 do",
    "  if ARGV[i + 1] == '' or redis.call('ZSCORE', KEYS[1], ARGV[i]) == ARGV[i + 1] then",
    "    removed = removed + redis.call('ZREM', KEYS[1], ARGV[i])",
    "  end",
    "end",
    "return removed",
  ].join('\n'),
};

/**
 * Reads a part of the index of a principal.
 *
 * - `KEYS[1]` index: handle -> end of the session, server milliseconds
 * - `ARGV[1]` offset: entries to skip
 * - `ARGV[2]` count: most entries to read
 * - returns handle and end of each
 */
export const indexMembersScript: Script<[index: string], [offset: number, count: number], string[]> = {
  name: 'session.index-members',
  sha: '92c7e4fb869b7d083cf99d16f243b4c618ead356',
  effect: 'idempotent',
  lua: [
    "local call = redis.call",
    "local time = call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local function byTheWay(...)",
    "  local reply = redis.pcall(...)",
    "  if type(reply) == 'table' and reply.err and not string.find(reply.err, 'MISCONF') and not string.find(reply.err, 'NOREPLICAS') then",
    "    error(reply)",
    "  end",
    "end",
    "local SKEW = 300000",
    "local function prune(key)",
    "  byTheWay('ZREMRANGEBYSCORE', key, '-inf', now - SKEW)",
    "end",
    "local function put(key, handle, at)",
    "  call('ZADD', key, at, handle)",
    "  call('PEXPIREAT', key, call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] + SKEW)",
    "end",
    "prune(KEYS[1])",
    "return call('ZRANGE', KEYS[1], ARGV[1], ARGV[1] + ARGV[2] - 1, 'WITHSCORES')",
  ].join('\n'),
};

/**
 * Lets no session of a principal come into being that was begun before, and reads those there are.
 *
 * - `KEYS[1]` index: handle -> end of the session, server milliseconds
 * - `KEYS[2]` epoch: forgotten
 * - `ARGV[1]` count: most entries to read
 * - returns handle and end of each
 */
export const indexRevokeScript: Script<[index: string, epoch: string], [count: number], string[]> = {
  name: 'session.index-revoke',
  sha: '923db9f0349cbc2f10ccfe9bd0cdd3f0013abff4',
  effect: 'idempotent',
  lua: [
    "local call = redis.call",
    "local time = call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local function byTheWay(...)",
    "  local reply = redis.pcall(...)",
    "  if type(reply) == 'table' and reply.err and not string.find(reply.err, 'MISCONF') and not string.find(reply.err, 'NOREPLICAS') then",
    "    error(reply)",
    "  end",
    "end",
    "local SKEW = 300000",
    "local function prune(key)",
    "  byTheWay('ZREMRANGEBYSCORE', key, '-inf', now - SKEW)",
    "end",
    "local function put(key, handle, at)",
    "  call('ZADD', key, at, handle)",
    "  call('PEXPIREAT', key, call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] + SKEW)",
    "end",
    "call('UNLINK', KEYS[2])",
    "prune(KEYS[1])",
    "return call('ZRANGE', KEYS[1], 0, ARGV[1] - 1, 'WITHSCORES')",
  ].join('\n'),
};

/**
 * Reads a session by its handle.
 *
 * - `KEYS[1]` record: the session
 * - `ARGV[1]` principal: whose it has to be
 * - returns null: there is none
 */
export const peekScript: Script<[record: string], [principal: string], null | [now: number, endsIn: number, fields: string[]]> = {
  name: 'session.peek',
  sha: 'b4193da625aeddb8f90d014c9e7b1931f65c3f8a',
  effect: 'read',
  lua: [
    "local call = redis.call",
    "local time = call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local absolute, principal = unpack(call('HMGET', KEYS[1], '_a', '_u'))",
    "if not absolute or tonumber(absolute) <= now or principal ~= ARGV[1] then return false end",
    "return { now, call('PTTL', KEYS[1]), call('HGETALL', KEYS[1]) }",
  ].join('\n'),
};

/**
 * Ends a session by its handle.
 *
 * - `KEYS[1]` record: the session
 * - `ARGV[1]` principal: only if it is theirs; '' for anybody's
 * - returns null: there is none; else its principal, '' for none
 */
export const removeScript: Script<[record: string], [principal: string], null | string> = {
  name: 'session.remove',
  sha: 'c318eb0598a014db27967636a4b3d655eb4df619',
  effect: 'idempotent',
  lua: [
    "local hash, principal = unpack(redis.call('HMGET', KEYS[1], '_h', '_u'))",
    "if not hash or (ARGV[1] ~= '' and principal ~= ARGV[1]) then return false end",
    "redis.call('UNLINK', KEYS[1])",
    "return principal or ''",
  ].join('\n'),
};

/**
 * Gives a session another secret. The one before stays valid for a while, so that parallel requests with it are not lost.
 *
 * - `KEYS[1]` record: the session
 * - `ARGV[1]` hash: of the secret that the caller has
 * - `ARGV[2]` newHash: of the new one
 * - `ARGV[3]` graceMs: how long the one before stays valid, milliseconds; 0: no other secret is valid any more
 * - `ARGV[4]` principal: whose session it is from now on; '' leaves that as it is
 * - `ARGV[5]` turn: of that; 0 without a principal
 * - returns 0: there is none; 1: done; 2: another rotation was less than its grace ago, so all secrets stay as they are
 */
export const rotateScript: Script<[record: string], [hash: string, newHash: string, graceMs: number, principal: string, turn: number], 0 | 1 | 2> = {
  name: 'session.rotate',
  sha: 'f9675c2bb215389bf7bab095b9c387ce8d32c917',
  effect: 'token',
  lua: [
    "local call = redis.call",
    "local time = call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local hash, previous, grace, absolute, idle = unpack(call('HMGET', KEYS[1], '_h', '_p', '_g', '_a', '_i'))",
    "local alive = hash and tonumber(absolute) > now",
    "local current = alive and hash == ARGV[1]",
    "local valid = current or (alive and previous == ARGV[1] and tonumber(grace) > now)",
    "local function byTheWay(...)",
    "  local reply = redis.pcall(...)",
    "  if type(reply) == 'table' and reply.err and not string.find(reply.err, 'MISCONF') and not string.find(reply.err, 'NOREPLICAS') then",
    "    error(reply)",
    "  end",
    "end",
    "local function moveEnd(key, at)",
    "  byTheWay('PEXPIREAT', key, at)",
    "end",
    "local function touch(key, idleMs, absoluteEnd)",
    "  local full = math.min(idleMs, absoluteEnd - now)",
    "  if full - call('PTTL', key) >= idleMs / 10 then moveEnd(key, now + full) end",
    "end",
    "if alive and hash == ARGV[2] then return 1 end",
    "if not valid then return 0 end",
    "local graceMs = tonumber(ARGV[3])",
    "if graceMs > 0 and previous and tonumber(grace) > now then return 2 end",
    "call('HSET', KEYS[1], '_h', ARGV[2])",
    "if graceMs > 0 then",
    "  call('HSET', KEYS[1], '_p', ARGV[1], '_g', now + graceMs)",
    "else",
    "  call('HDEL', KEYS[1], '_p', '_g')",
    "end",
    "if ARGV[4] ~= '' then call('HSET', KEYS[1], '_u', ARGV[4], '_t', ARGV[5]) end",
    "touch(KEYS[1], tonumber(idle), tonumber(absolute))",
    "return 1",
  ].join('\n'),
};

/**
 * Begins the idle time of a session anew.
 *
 * - `KEYS[1]` record: the session
 * - `ARGV[1]` hash: of the secret that the caller has
 * - `ARGV[2]` idleMs: its idle time from now on, milliseconds
 * - returns 0: there is none
 */
export const touchScript: Script<[record: string], [hash: string, idleMs: number], 0 | 1> = {
  name: 'session.touch',
  sha: '8ab245225c67f177d392fe56244c1619452fc89d',
  effect: 'idempotent',
  lua: [
    "local call = redis.call",
    "local time = call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local hash, previous, grace, absolute, idle = unpack(call('HMGET', KEYS[1], '_h', '_p', '_g', '_a', '_i'))",
    "local alive = hash and tonumber(absolute) > now",
    "local current = alive and hash == ARGV[1]",
    "local valid = current or (alive and previous == ARGV[1] and tonumber(grace) > now)",
    "local function byTheWay(...)",
    "  local reply = redis.pcall(...)",
    "  if type(reply) == 'table' and reply.err and not string.find(reply.err, 'MISCONF') and not string.find(reply.err, 'NOREPLICAS') then",
    "    error(reply)",
    "  end",
    "end",
    "local function moveEnd(key, at)",
    "  byTheWay('PEXPIREAT', key, at)",
    "end",
    "local function touch(key, idleMs, absoluteEnd)",
    "  local full = math.min(idleMs, absoluteEnd - now)",
    "  if full - call('PTTL', key) >= idleMs / 10 then moveEnd(key, now + full) end",
    "end",
    "if not valid then return 0 end",
    "if idle == ARGV[2] then",
    "  touch(KEYS[1], tonumber(idle), tonumber(absolute))",
    "else",
    "  moveEnd(KEYS[1], math.min(now + tonumber(ARGV[2]), tonumber(absolute)))",
    "  call('HSET', KEYS[1], '_i', ARGV[2])",
    "end",
    "return 1",
  ].join('\n'),
};

/**
 * Changes some fields of a live session; the others stay as they are, whoever wrote them.
 *
 * - `KEYS[1]` record: the session
 * - `ARGV[1]` hash: of the secret that the caller has
 * - `ARGV[2]` token: of this write, 8 characters
 * - `ARGV[3]` ifVersion: the version that it has to have; '' for any
 * - `ARGV[4]` maxBytes: most that all fields may have, names included
 * - `ARGV[5...]` fields: name and new text of each; '' removes it (variadic, last)
 * - returns null: there is none
 */
export const updateScript: Script<[record: string], [hash: string, token: string, ifVersion: string, maxBytes: number, ...fields: string[]], null | [state: 'conflict', version: number] | [state: 'large', bytes: number] | [state: 'ok', now: number, endsIn: number, fields: string[]]> = {
  name: 'session.update',
  sha: '6ec80ae25465d61db59e493a7e353782d284c77c',
  effect: 'token',
  lua: [
    "local call = redis.call",
    "local time = call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local hash, previous, grace, absolute, idle = unpack(call('HMGET', KEYS[1], '_h', '_p', '_g', '_a', '_i'))",
    "local alive = hash and tonumber(absolute) > now",
    "local current = alive and hash == ARGV[1]",
    "local valid = current or (alive and previous == ARGV[1] and tonumber(grace) > now)",
    "local TOKEN, KEPT = 8, 8",
    "if not valid then return false end",
    "local key = KEYS[1]",
    "local version, tokens = unpack(call('HMGET', key, '_v', '_w'))",
    "tokens = tokens or ''",
    "local done = false",
    "for at = 1, #tokens, TOKEN do",
    "  if string.sub(tokens, at, at + TOKEN - 1) == ARGV[2] then done = true end",
    "end",
    "if not done and ARGV[3] ~= '' and ARGV[3] ~= version then return { 'conflict', tonumber(version) } end",
    "if not done and #ARGV > 4 then",
    "  local bytes, patch = 0, {}",
    "  for i = 5, #ARGV, 2 do",
    "    patch[ARGV[i]] = true",
    "    if ARGV[i + 1] ~= '' then bytes = bytes + #ARGV[i] + #ARGV[i + 1] end",
    "  end",
    "  local fields = call('HGETALL', key)",
    "  for i = 1, #fields, 2 do",
    "    if string.sub(fields[i], 1, 2) == 'd:' and not patch[fields[i]] then bytes = bytes + #fields[i] + #fields[i + 1] end",
    "  end",
    "  if bytes > tonumber(ARGV[4]) then return { 'large', bytes } end",
    "  for i = 5, #ARGV, 2 do",
    "    if ARGV[i + 1] == '' then",
    "      call('HDEL', key, ARGV[i])",
    "    else",
    "      call('HSET', key, ARGV[i], ARGV[i + 1])",
    "      if ARGV[i] == '_i' then idle = ARGV[i + 1] end",
    "    end",
    "  end",
    "  call('HSET', key, '_v', version + 1, '_w', string.sub(ARGV[2] .. tokens, 1, TOKEN * KEPT))",
    "end",
    "call('PEXPIREAT', key, math.min(now + tonumber(idle), tonumber(absolute)))",
    "return { 'ok', now, call('PTTL', key), call('HGETALL', key) }",
  ].join('\n'),
};
