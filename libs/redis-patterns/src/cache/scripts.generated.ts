// Generated from lua/*.lua by `npm run lua`; do not edit.
import type { Script } from '../scripting/index.js';

/**
 * Gives up a load without storing.
 *
 * - `KEYS[1]` leaseKey: lease of the entry
 * - `ARGV[1]` token: token of the load
 * - returns 1 when the lease was still the caller's: nothing was evicted or put since the load began
 */
export const abortScript: Script<[leaseKey: string], [token: string], 0 | 1> = {
  name: 'cache.abort',
  sha: '16fcc7356e95831cb414d00c8c129e24948bebc0',
  effect: 'token',
  lua: [
    "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end",
    "redis.call('DEL', KEYS[1])",
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
