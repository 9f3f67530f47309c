// Generated from lua/*.lua by `npm run lua`; do not edit.
import type { Script } from '../scripting/index.js';

/**
 * Uses a token up; gives its payload to one attempt.
 *
 * - `KEYS[1]` record: the token, by its hash
 * - `ARGV[1]` attempt: of this call alone
 * - `ARGV[2]` rememberMs: how long the attempt is told from others, milliseconds
 * - returns payload; null: there is none, or it was used up
 */
export const consumeScript: Script<[record: string], [attempt: string, rememberMs: number], null | string> = {
  name: 'token.consume',
  sha: '253b28efc21aebcee75810b1595588ccdda55c16',
  effect: 'token',
  lua: [
    "local payload, user = unpack(redis.call('HMGET', KEYS[1], 'v', 'u'))",
    "if not payload or (user and user ~= ARGV[1]) then return false end",
    "redis.call('PEXPIRE', KEYS[1], ARGV[2], 'LT')",
    "redis.call('HSET', KEYS[1], 'u', ARGV[1])",
    "return payload",
  ].join('\n'),
};

/**
 * Keeps the payload of a token.
 *
 * - `KEYS[1]` record: the token, by its hash
 * - `KEYS[2...]` index: of its principal, if it has one: hash -> end, server milliseconds (variadic, last)
 * - `ARGV[1]` payload: encoded
 * - `ARGV[2]` ttlMs: milliseconds
 * - `ARGV[3]` hash: of the token
 * - `ARGV[4]` max: tokens of a principal that may live at a time
 * - returns hashes of the other tokens that are too many, those that end first
 */
export const issueScript: Script<[record: string, ...index: string[]], [payload: string, ttlMs: number, hash: string, max: number], string[]> = {
  name: 'token.issue',
  sha: '25b1ca68db40820a0fb7f545bb5f523586080c14',
  effect: 'idempotent',
  lua: [
    "local call = redis.call",
    "call('HSET', KEYS[1], 'v', ARGV[1])",
    "call('PEXPIRE', KEYS[1], ARGV[2])",
    "local index = KEYS[2]",
    "if not index then return {} end",
    "local time = call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "call('ZREMRANGEBYSCORE', index, '-inf', now)",
    "call('ZADD', index, now + ARGV[2], ARGV[3])",
    "call('PEXPIREAT', index, call('ZRANGE', index, -1, -1, 'WITHSCORES')[2])",
    "local surplus = call('ZCARD', index) - ARGV[4]",
    "if surplus <= 0 then return {} end",
    "surplus = math.min(surplus, 500)",
    "local first = call('ZRANGE', index, 0, surplus)",
    "for i = 1, #first do",
    "  if first[i] == ARGV[3] then",
    "    table.remove(first, i)",
    "    break",
    "  end",
    "end",
    "first[surplus + 1] = nil",
    "return first",
  ].join('\n'),
};

/**
 * Reads tokens of one purpose and principal, those that end first. A script, so that the master is asked whatever `readFrom` says.
 *
 * - `KEYS[1]` index: of the principal: hash -> end, server milliseconds
 * - `ARGV[1]` count: most tokens to read
 * - returns their hashes
 */
export const membersScript: Script<[index: string], [count: number], string[]> = {
  name: 'token.members',
  sha: '06b6ff0848d02c57cb342d353aeadcd00cc13f8d',
  effect: 'read',
  lua: [
    "return redis.call('ZRANGE', KEYS[1], 0, ARGV[1] - 1)",
  ].join('\n'),
};

/**
 * Revokes tokens of one purpose and principal.
 *
 * - `KEYS[1]` index: of the principal: hash -> end, server milliseconds
 * - `KEYS[2...]` records: the tokens (variadic, last)
 * - `ARGV[1...]` hashes: of the tokens, in the same order (variadic, last)
 * - returns how many there were
 */
export const revokeManyScript: Script<[index: string, ...records: string[]], [...hashes: string[]], number> = {
  name: 'token.revoke-many',
  sha: '1ea680fa841470b1918bbcdff4b652b9bf35ad25',
  effect: 'idempotent',
  lua: [
    "local removed = 0",
    "for i = 2, #KEYS do",
    "  removed = removed + redis.call('UNLINK', KEYS[i])",
    "  redis.call('ZREM', KEYS[1], ARGV[i - 1])",
    "end",
    "return removed",
  ].join('\n'),
};

/**
 * Reads the payload of a token that is not used up. A script, so that the master is asked whatever `readFrom` says.
 *
 * - `KEYS[1]` record: the token, by its hash
 * - returns payload; null: there is none, or it was used up
 */
export const verifyScript: Script<[record: string], [], null | string> = {
  name: 'token.verify',
  sha: '6509731dcc74901103d143d431ee4bc23cffe20c',
  effect: 'read',
  lua: [
    "local payload, user = unpack(redis.call('HMGET', KEYS[1], 'v', 'u'))",
    "return not user and payload",
  ].join('\n'),
};
