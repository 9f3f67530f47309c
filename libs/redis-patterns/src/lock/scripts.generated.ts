// Generated from lua/*.lua by `npm run lua`; do not edit.
import type { Script } from '../scripting/index.js';

/**
 * Takes a lock if it is free. Finds its own earlier grant again when the reply to that was lost.
 *
 * - `KEYS[1]` lockKey: the lock: token of its holder
 * - `KEYS[2]` fenceKey: last fence of this lock
 * - `ARGV[1]` token: token of this acquisition
 * - `ARGV[2]` leaseMs: lease, milliseconds
 * - `ARGV[3]` fenceTtlMs: how long the last fence is remembered, milliseconds
 * - returns fence and server time, or how long the holder's lease lasts (-1: for ever)
 */
export const acquireScript: Script<[lockKey: string, fenceKey: string], [token: string, leaseMs: number, fenceTtlMs: number], [granted: 1, fence: string, nowMs: number] | [granted: 0, leftMs: number]> = {
  name: 'lock.acquire',
  sha: '03e165554e13839b2915fd3ed5ccd623f21cf251',
  effect: 'token',
  lua: [
    "local call = redis.call",
    "local time = call('TIME')",
    "local micros = time[1] * 1000000 + time[2]",
    "local now = math.floor(micros / 1000)",
    "local holder = call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2], 'GET')",
    "if holder and holder ~= ARGV[1] then",
    "  return { 0, call('PTTL', KEYS[1]) }",
    "end",
    "if holder then",
    "  call('PEXPIRE', KEYS[1], ARGV[2])",
    "  local fence = call('GET', KEYS[2])",
    "  if fence then",
    "    return { 1, fence, now }",
    "  end",
    "end",
    "local fence = string.format('%.0f', micros)",
    "local last = tonumber(call('SET', KEYS[2], fence, 'PX', ARGV[3], 'GET') or 0) or 0",
    "if last >= micros then",
    "  fence = string.format('%.0f', last + 1)",
    "  call('SET', KEYS[2], fence, 'PX', ARGV[3])",
    "end",
    "return { 1, fence, now }",
  ].join('\n'),
};

/**
 * Makes a lock last at least one more lease, if the caller still holds it. Never shortens it and never creates it again.
 *
 * - `KEYS[1]` lockKey: the lock
 * - `ARGV[1]` token: token of the acquisition
 * - `ARGV[2]` leaseMs: lease from now, milliseconds
 * - returns 1 extended, 0 somebody else holds it, -1 nobody does
 */
export const extendScript: Script<[lockKey: string], [token: string, leaseMs: number], 1 | 0 | -1> = {
  name: 'lock.extend',
  sha: '86bdca300c2c301ef55c5ae653c2eeaab7edc9f3',
  effect: 'idempotent',
  lua: [
    "local holder = redis.call('GET', KEYS[1])",
    "if not holder then",
    "  return -1",
    "end",
    "if holder ~= ARGV[1] then",
    "  return 0",
    "end",
    "redis.call('PEXPIRE', KEYS[1], ARGV[2], 'GT')",
    "return 1",
  ].join('\n'),
};

/**
 * Tells who holds a lock.
 *
 * - `KEYS[1]` lockKey: the lock
 * - `KEYS[2]` fenceKey: last fence of this lock
 * - returns token and time left of the holder (-1: for ever), its fence or ''
 */
export const inspectScript: Script<[lockKey: string, fenceKey: string], [], [token: string, leftMs: number, fence: string] | null> = {
  name: 'lock.inspect',
  sha: 'bc6f6ae2ae4f2370781f6882e4a54319c51c4626',
  effect: 'read',
  lua: [
    "local holder = redis.call('GET', KEYS[1])",
    "if not holder then",
    "  return false",
    "end",
    "return { holder, redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[2]) or '' }",
  ].join('\n'),
};

/**
 * Gives a lock back, if the caller still holds it.
 *
 * - `KEYS[1]` lockKey: the lock
 * - `ARGV[1]` token: token of the acquisition
 * - returns 1 released, 0 somebody else holds it, -1 nobody does
 */
export const releaseScript: Script<[lockKey: string], [token: string], 1 | 0 | -1> = {
  name: 'lock.release',
  sha: 'ad086ecde557a926cd30d00f3d957f97db0d1810',
  effect: 'idempotent',
  lua: [
    "local holder = redis.call('GET', KEYS[1])",
    "if holder == ARGV[1] then",
    "  return redis.call('DEL', KEYS[1])",
    "end",
    "return holder and 0 or -1",
  ].join('\n'),
};
