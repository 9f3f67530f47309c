// Generated from lua/*.lua by `npm run lua`; do not edit.
import type { Script } from '../scripting/index.js';

/**
 * Remembers which entry was read last; never an older one than before.
 *
 * - `KEYS[1]` feed: as push
 * - `KEYS[2]` seen: as push
 * - `ARGV[1]` id: '' for the newest
 * - `ARGV[2]` ttl: milliseconds, when there is no feed that it could expire with
 * - returns 1: it is another one now
 */
export const markScript: Script<[feed: string, seen: string], [id: string, ttl: number], 0 | 1> = {
  name: 'feed.mark',
  sha: '5ee3e28cf92224f64d61f49ca1f783ca9fd3dd4b',
  effect: 'idempotent',
  lua: [
    "local id = ARGV[1]",
    "if id == '' then",
    "  local newest = redis.call('ZRANGE', KEYS[1], '+', '-', 'BYLEX', 'REV', 'LIMIT', 0, 1)[1]",
    "  if not newest then return 0 end",
    "  id = string.sub(newest, 1, 26)",
    "end",
    "local seen = redis.call('GET', KEYS[2])",
    "if seen and seen >= id then return 0 end",
    "redis.call('SET', KEYS[2], id, 'PX', ARGV[2])",
    "local expiresAt = redis.call('PEXPIRETIME', KEYS[1])",
    "if expiresAt > 0 then redis.call('PEXPIREAT', KEYS[2], string.format('%.0f', expiresAt)) end",
    "return 1",
  ].join('\n'),
};

/**
 * A page of a feed that may have to be loaded first.
 *
 * - `KEYS[1]` feed: as push
 * - `KEYS[2]` loaded: as push
 * - `ARGV[1]` before: the newest that is not wanted, '' for none
 * - `ARGV[2]` size
 * - returns newest first
 */
export const pageScript: Script<[feed: string, loaded: string], [before: string, size: number], [loaded: 0 | 1, ...entries: string[]]> = {
  name: 'feed.page',
  sha: 'd4d61fe5bde07e93861116d4c7384e76f31d9c01',
  effect: 'read',
  lua: [
    "local top = ARGV[1] == '' and '+' or '(' .. ARGV[1]",
    "local reply = redis.call('ZRANGE', KEYS[1], top, '-', 'BYLEX', 'REV', 'LIMIT', 0, ARGV[2])",
    "table.insert(reply, 1, redis.call('EXISTS', KEYS[2]))",
    "return reply",
  ].join('\n'),
};

/**
 * Takes entries into a feed, and drops the oldest of a full one.
 *
 * - `KEYS[1]` feed: sorted set, all scores 0: each entry is its id (ULID) and its text
 * - `KEYS[2]` seen: id of the last entry that was read
 * - `KEYS[3]` loaded: says that what was there before has been loaded
 * - `ARGV[1]` max: most entries
 * - `ARGV[2]` ttl: milliseconds
 * - `ARGV[3]` same: what happens to an entry with the same id: there is none, it goes, it stays
 * - `ARGV[4]` load: 1: nothing is left to load after this
 * - `ARGV[5...]` entries: id and text in one
 * - returns server time, milliseconds
 */
export const pushScript: Script<[feed: string, seen: string, loaded: string], [max: number, ttl: number, same: 'new' | 'replace' | 'keep', load: 0 | 1, ...entries: string[]], string> = {
  name: 'feed.push',
  sha: '53242d750533742b7624563dc6756fdeb0017262',
  effect: 'idempotent',
  lua: [
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local function after(id)",
    "  return string.sub(id, 1, 25) .. string.char(string.byte(id, 26) + 1)",
    "end",
    "local feed, max, same = KEYS[1], tonumber(ARGV[1]), ARGV[3]",
    "for i = 5, #ARGV do",
    "  local id = string.sub(ARGV[i], 1, 26)",
    "  if same == 'replace' then redis.call('ZREMRANGEBYLEX', feed, '[' .. id, '(' .. after(id)) end",
    "  if same ~= 'keep' or redis.call('ZLEXCOUNT', feed, '[' .. id, '(' .. after(id)) == 0 then",
    "    redis.call('ZADD', feed, 0, ARGV[i])",
    "  end",
    "end",
    "local excess = math.min(redis.call('ZCARD', feed) - max, 1000)",
    "if excess > 0 then redis.call('ZREMRANGEBYRANK', feed, 0, excess - 1) end",
    "if ARGV[4] == '1' then redis.call('SET', KEYS[3], 1) end",
    "local expiresAt = string.format('%.0f', now + ARGV[2])",
    "for i = 1, 3 do redis.call('PEXPIREAT', KEYS[i], expiresAt) end",
    "return string.format('%.0f', now)",
  ].join('\n'),
};

/**
 * How many entries are newer than the last one that was read.
 *
 * - `KEYS[1]` feed: as push
 * - `KEYS[2]` seen: as push
 * - returns all of them when none was read
 */
export const unreadScript: Script<[feed: string, seen: string], [], number> = {
  name: 'feed.unread',
  sha: '59c7e7d082f50dd7fc439e89914ca61d23469f8c',
  effect: 'read',
  lua: [
    "local function after(id)",
    "  return string.sub(id, 1, 25) .. string.char(string.byte(id, 26) + 1)",
    "end",
    "local seen = redis.call('GET', KEYS[2])",
    "return redis.call('ZLEXCOUNT', KEYS[1], seen and '[' .. after(seen) or '-', '+')",
  ].join('\n'),
};
