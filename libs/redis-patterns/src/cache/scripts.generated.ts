// Generated from lua/*.lua by `npm run lua`; do not edit.
import type { Script } from '../scripting/index.js';

/**
 * Gives up a load without storing.
 *
 * - `KEYS[1]` leaseKey: lease of the entry
 * - `ARGV[1]` token: token of the load
 * - `ARGV[2]` backoffMs: for so long no refresh of the entry is tried; 0 for none
 * - returns 1 when the lease was still the caller's: nothing was evicted or put since the load began
 */
export const abortScript: Script<[leaseKey: string], [token: string, backoffMs: number], 0 | 1> = {
  name: 'cache.abort',
  sha: '56863519d5efa4c090538e21630d14b020dfe18f',
  effect: 'token',
  lua: [
    "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end",
    "if tonumber(ARGV[2]) > 0 then",
    "  redis.call('SET', KEYS[1], '~', 'PX', ARGV[2])",
    "else",
    "  redis.call('DEL', KEYS[1])",
    "end",
    "return 1",
  ].join('\n'),
};

/**
 * Writes new generations into the cells of tags that are about to be invalidated.
 *
 * - `KEYS[1]` generationsKey: the generations
 * - `ARGV[1]` value: a text that no cell has had before
 * - `ARGV[2]` ttl: how long they are remembered, milliseconds
 * - `ARGV[3...]` offsets: (variadic, last) where the cells begin
 */
export const advanceGenerationsScript: Script<[generationsKey: string], [value: string, ttl: number, ...offsets: number[]], 1> = {
  name: 'cache.advance-generations',
  sha: '09d30d015fdeec9b6a146a7e71f4c1b84a729a58',
  effect: 'idempotent',
  lua: [
    "for index = 3, #ARGV do redis.call('SETRANGE', KEYS[1], ARGV[index], ARGV[1]) end",
    "redis.call('PEXPIRE', KEYS[1], ARGV[2])",
    "return 1",
  ].join('\n'),
};

/**
 * Decides who loads a missing entry: gives the entry when it has been stored meanwhile, else the lease to one caller.
 * A repetition with the same token finds its own lease again.
 *
 * - `KEYS[1]` entryKey: the entry
 * - `KEYS[2]` leaseKey: its lease, in the same slot
 * - `ARGV[1]` token: who asks; 12 or more characters, none of them '!' or '~'
 * - `ARGV[2]` leaseMs: the lease, milliseconds
 * - `ARGV[3]` seenId: id of the entry that the caller cannot use, or ''
 * - `ARGV[4]` schema: schema version of the caller
 * - returns 0: entry is fresh; 1: you load and store; 2: another one loads; 3: load, do not store; 4: back off
 */
export const beginScript: Script<[entryKey: string, leaseKey: string], [token: string, leaseMs: number, seenId: string, schema: number], [state: 0 | 1 | 2 | 3 | 4, entry: string | null, pttl: number]> = {
  name: 'cache.begin',
  sha: '3567d60e326498d789601f8257333ccd0843b45b',
  effect: 'token',
  lua: [
    "local entry = redis.call('GET', KEYS[1])",
    "local pttl = redis.call('PTTL', KEYS[1])",
    "if entry then",
    "  local id, stale, schema = string.match(entry, '^~1;v=%d*;i=([^;]*);w=(%d+);d=%d*;s=(%d+)')",
    "  if id then",
    "    if tonumber(schema) > tonumber(ARGV[4]) then return { 3, entry, pttl } end",
    "    if schema == ARGV[4] and pttl > tonumber(stale) and id ~= ARGV[3] then return { 0, entry, pttl } end",
    "  end",
    "end",
    "local lease = redis.call('GET', KEYS[2])",
    "if lease and lease ~= ARGV[1] then",
    "  if lease == '!' then return { 3, entry, pttl } end",
    "  if lease ~= '~' then return { 2, entry, pttl } end",
    "  if entry then return { 4, entry, pttl } end",
    "end",
    "redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])",
    "return { 1, entry, pttl }",
  ].join('\n'),
};

/**
 * Stores a loaded entry, if no evict, put or other loader took the lease away since the load began.
 *
 * - `KEYS[1]` entryKey: the entry
 * - `KEYS[2]` leaseKey: its lease
 * - `ARGV[1]` token: token of the load
 * - `ARGV[2]` entry: header and payload
 * - `ARGV[3]` px: time to live, milliseconds
 * - returns 1 when stored
 */
export const commitScript: Script<[entryKey: string, leaseKey: string], [token: string, entry: string, px: number], 0 | 1> = {
  name: 'cache.commit',
  sha: '007d695906c6abccaf838522c45f77bffb860730',
  effect: 'token',
  lua: [
    "if redis.call('GET', KEYS[2]) ~= ARGV[1] then",
    "  if redis.call('GET', KEYS[1]) == ARGV[2] then return 1 end",
    "  return 0",
    "end",
    "redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])",
    "redis.call('DEL', KEYS[2])",
    "return 1",
  ].join('\n'),
};

/**
 * Deletes an entry, and keeps running loads from storing theirs.
 *
 * - `KEYS[1]` entryKey: the entry
 * - `KEYS[2]` leaseKey: its lease
 * - `ARGV[1]` quarantineMs: for so long nothing is stored by loads that begin from now on; 0 for none
 * - returns 1 when there was an entry
 */
export const evictScript: Script<[entryKey: string, leaseKey: string], [quarantineMs: number], 0 | 1> = {
  name: 'cache.evict',
  sha: '1e6e64623815ce78a38e4e554c0aacdf6ca198f1',
  effect: 'idempotent',
  lua: [
    "local existed = redis.call('DEL', KEYS[1])",
    "if tonumber(ARGV[1]) > 0 then",
    "  redis.call('SET', KEYS[2], '!', 'PX', ARGV[1])",
    "else",
    "  redis.call('DEL', KEYS[2])",
    "end",
    "return existed",
  ].join('\n'),
};

/**
 * Ends the fresh time of an entry; a stale copy, where it has one, stays for its stale time. Keeps running loads from storing.
 *
 * - `KEYS[1]` entryKey: the entry
 * - `KEYS[2]` leaseKey: its lease
 * - returns 1 when there was an entry
 */
export const expireScript: Script<[entryKey: string, leaseKey: string], [], 0 | 1> = {
  name: 'cache.expire',
  sha: '2b09a7ff99f411300e6568a29ab8c27368c29038',
  effect: 'idempotent',
  lua: [
    "redis.call('DEL', KEYS[2])",
    "local stale = string.match(redis.call('GETRANGE', KEYS[1], 0, 191), '^~1;v=%d*;i=[^;]*;w=(%d+)')",
    "if not stale or stale == '0' then return redis.call('DEL', KEYS[1]) end",
    "if redis.call('PTTL', KEYS[1]) > tonumber(stale) then redis.call('PEXPIRE', KEYS[1], stale) end",
    "return 1",
  ].join('\n'),
};

/**
 * Notes which entry was stored under a tag, and forgets some whose time is over, so that the index does not grow for ever.
 *
 * - `KEYS[1]` indexKey: entries that were stored under one token of the tag, by the end of their life
 * - `ARGV[1]` entryKey: the entry
 * - `ARGV[2]` px: its time to live, milliseconds
 */
export const indexAddScript: Script<[indexKey: string], [entryKey: string, px: number], 1> = {
  name: 'cache.index-add',
  sha: 'fc3735f673a6ef89a837b22aaaf36749f8eb4cb1',
  effect: 'idempotent',
  lua: [
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])",
    "if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end",
    "local over = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now), 'LIMIT', 0, 100)",
    "if #over > 0 then redis.call('ZREM', KEYS[1], unpack(over)) end",
    "return 1",
  ].join('\n'),
};

/**
 * Gives entries of an index whose time is not over, those that end first before the others.
 *
 * - `KEYS[1]` indexKey: entries that were stored under one token of a tag
 * - `ARGV[1]` limit: how many at most
 * - returns their keys
 */
export const indexListScript: Script<[indexKey: string], [limit: number], string[]> = {
  name: 'cache.index-list',
  sha: '900a32ad64934571ea1bdbf71d1f4f5952a7d99e',
  effect: 'read',
  lua: [
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "return redis.call('ZRANGEBYSCORE', KEYS[1], string.format('(%.0f', now), '+inf', 'LIMIT', 0, ARGV[1])",
  ].join('\n'),
};

/**
 * Stores an entry at once, and keeps running loads from storing theirs.
 *
 * - `KEYS[1]` entryKey: the entry
 * - `KEYS[2]` leaseKey: its lease
 * - `ARGV[1]` entry: header and payload
 * - `ARGV[2]` px: time to live, milliseconds
 * - `ARGV[3]` version: '' for none, else decimal without leading zeros: a lower one than the stored one is refused
 * - `ARGV[4]` schema: schema version of the caller
 * - returns 1: stored; 0: a newer version is kept; 2: evicted, as the entry was of a newer schema
 */
export const putScript: Script<[entryKey: string, leaseKey: string], [entry: string, px: number, version: string, schema: number], 0 | 1 | 2> = {
  name: 'cache.put',
  sha: 'b9724248c02a4ae40239277766a9c34f0d640976',
  effect: 'idempotent',
  lua: [
    "local header = redis.call('GETRANGE', KEYS[1], 0, 191)",
    "local version, schema = string.match(header, '^~1;v=(%d*);i=[^;]*;w=%d+;d=%d*;s=(%d+)')",
    "if version and version ~= '' and ARGV[3] ~= '' then",
    "  if #version > #ARGV[3] or (#version == #ARGV[3] and version > ARGV[3]) then return 0 end",
    "end",
    "if schema and tonumber(schema) > tonumber(ARGV[4]) then",
    "  redis.call('DEL', KEYS[1], KEYS[2])",
    "  return 2",
    "end",
    "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])",
    "redis.call('DEL', KEYS[2])",
    "return 1",
  ].join('\n'),
};

/**
 * Gives the generations of all tags, one cell for each hash of a tag; makes them when there are none.
 *
 * - `KEYS[1]` generationsKey: the generations
 * - `ARGV[1]` filler: a text that nobody else has, for the cells if there are none: losing them changes them all
 * - `ARGV[2]` size: length of all cells
 * - `ARGV[3]` ttl: how long they are remembered, milliseconds
 * - `ARGV[4]` least: with less left their time is extended
 * - returns all cells
 */
export const readGenerationsScript: Script<[generationsKey: string], [filler: string, size: number, ttl: number, least: number], string> = {
  name: 'cache.read-generations',
  sha: 'b3f3015b7ec7d97fdd85d2f3d5456dbf474a80b3',
  effect: 'idempotent',
  lua: [
    "local cells = redis.call('GET', KEYS[1])",
    "local size = tonumber(ARGV[2])",
    "if not cells or #cells ~= size then",
    "  cells = string.sub(string.rep(ARGV[1], math.ceil(size / #ARGV[1])), 1, size)",
    "  redis.call('SET', KEYS[1], cells, 'PX', ARGV[3])",
    "elseif redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then",
    "  redis.call('PEXPIRE', KEYS[1], ARGV[3])",
    "end",
    "return cells",
  ].join('\n'),
};

/**
 * Deletes an entry that was stored under a token which its tag has no more. One that was stored anew stays.
 *
 * - `KEYS[1]` entryKey: the entry
 * - `ARGV[1]` mark: `,<tag>=<token>,`
 * - returns 1 when it was deleted
 */
export const reclaimScript: Script<[entryKey: string], [mark: string], 0 | 1> = {
  name: 'cache.reclaim',
  sha: '39e0602af7be93ace15c553901d0cd2dd36c6b00',
  effect: 'idempotent',
  lua: [
    "local tags = string.match(redis.call('GETRANGE', KEYS[1], 0, 65535), '^~1;[^\\n]*;g=([^\\n]*)\\n')",
    "if not tags or not string.find(',' .. tags .. ',', ARGV[1], 1, true) then return 0 end",
    "return redis.call('UNLINK', KEYS[1])",
  ].join('\n'),
};

/**
 * Extends the lease of a load that is still running.
 *
 * - `KEYS[1]` leaseKey: lease of the entry
 * - `ARGV[1]` token: token of the load
 * - `ARGV[2]` leaseMs: the lease from now on, milliseconds
 * - returns 0 when the lease is lost
 */
export const renewScript: Script<[leaseKey: string], [token: string, leaseMs: number], 0 | 1> = {
  name: 'cache.renew',
  sha: '2deae1ef2395a47a688aa388ceff88bd1c320ba4',
  effect: 'idempotent',
  lua: [
    "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end",
    "return redis.call('PEXPIRE', KEYS[1], ARGV[2])",
  ].join('\n'),
};

/**
 * Gives the token of a tag; makes one when there is none.
 *
 * - `KEYS[1]` tagKey: the tag
 * - `ARGV[1]` candidate: its token, if it has none
 * - `ARGV[2]` ttl: how long the tag is remembered, milliseconds
 * - `ARGV[3]` least: longest life of an entry: with less left the tag's own time is extended
 * - returns the token
 */
export const takeTokenScript: Script<[tagKey: string], [candidate: string, ttl: number, least: number], string> = {
  name: 'cache.take-token',
  sha: 'b9c5293bac7870625979c7fbbc2077c6550a05c4',
  effect: 'idempotent',
  lua: [
    "local token = redis.call('GET', KEYS[1])",
    "if not token then",
    "  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])",
    "  return ARGV[1]",
    "end",
    "if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end",
    "return token",
  ].join('\n'),
};
