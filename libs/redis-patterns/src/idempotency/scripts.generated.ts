// Generated from lua/*.lua by `npm run lua`; do not edit.
import type { Script } from '../scripting/index.js';

/**
 * Begins a run if the key is free. Else tells what is known of the one that runs or has ended.
 *
 * - `KEYS[1]` record: state s (P running, C complete), fingerprint f, token t of the owner, result r
 * - `ARGV[1]` fingerprint: of the payload
 * - `ARGV[2]` token: of this run
 * - `ARGV[3]` leaseMs: how long it may run without a renewal, milliseconds
 * - returns fence: server time in microseconds
 */
export const beginScript: Script<[record: string], [fingerprint: string, token: string, leaseMs: number], [state: 'new', fence: string] | [state: 'replay', result: string] | [state: 'busy', leftMs: number] | [state: 'mismatch']> = {
  name: 'idempotency.begin',
  sha: 'f2b20815625ad6204450f791b2de85bc9d9537b1',
  effect: 'token',
  lua: [
    "local s, f, t, r = unpack(redis.call('HMGET', KEYS[1], 's', 'f', 't', 'r'))",
    "if s and f ~= ARGV[1] then",
    "  return { 'mismatch' }",
    "end",
    "if s == 'C' then",
    "  return { 'replay', r }",
    "end",
    "if s and t ~= ARGV[2] then",
    "  return { 'busy', redis.call('PTTL', KEYS[1]) }",
    "end",
    "local time = redis.call('TIME')",
    "redis.call('HSET', KEYS[1], 's', 'P', 'f', ARGV[1], 't', ARGV[2])",
    "redis.call('PEXPIRE', KEYS[1], ARGV[3])",
    "return { 'new', string.format('%.0f', time[1] * 1000000 + time[2]) }",
  ].join('\n'),
};

/**
 * Keeps the result of a run, unless another run has taken the key.
 *
 * - `KEYS[1]` record: the record
 * - `ARGV[1]` token: of the run
 * - `ARGV[2]` fingerprint: of the payload
 * - `ARGV[3]` ttlMs: how long the result is replayed, milliseconds
 * - `ARGV[4]` result: '' for one that was not kept
 * - returns 1 kept, 0 not the owner
 */
export const completeScript: Script<[record: string], [token: string, fingerprint: string, ttlMs: number, result: string], 0 | 1> = {
  name: 'idempotency.complete',
  sha: 'ec2d495baa761eca1b3dec5e9e17bc120f230b48',
  effect: 'idempotent',
  lua: [
    "local s, t = unpack(redis.call('HMGET', KEYS[1], 's', 't'))",
    "if s and t ~= ARGV[1] then",
    "  return 0",
    "end",
    "redis.call('HSET', KEYS[1], 's', 'C', 'f', ARGV[2], 't', ARGV[1], 'r', ARGV[4])",
    "redis.call('PEXPIRE', KEYS[1], ARGV[3])",
    "return 1",
  ].join('\n'),
};

/**
 * Gives a run a whole lease from now, if it still owns the key.
 *
 * - `KEYS[1]` record: the record
 * - `ARGV[1]` token: of the run
 * - `ARGV[2]` leaseMs: milliseconds
 * - returns 1 extended, 0 not the owner
 */
export const extendScript: Script<[record: string], [token: string, leaseMs: number], 0 | 1> = {
  name: 'idempotency.extend',
  sha: '5eb85fd610f06089e5fc379dd7620af3f70844b2',
  effect: 'idempotent',
  lua: [
    "local s, t = unpack(redis.call('HMGET', KEYS[1], 's', 't'))",
    "if s ~= 'P' or t ~= ARGV[1] then",
    "  return 0",
    "end",
    "redis.call('PEXPIRE', KEYS[1], ARGV[2])",
    "return 1",
  ].join('\n'),
};

/**
 * Frees the key of a run that failed, if it still owns it.
 *
 * - `KEYS[1]` record: the record
 * - `ARGV[1]` token: of the run
 * - returns 1 freed, 0 not the owner
 */
export const freeScript: Script<[record: string], [token: string], 0 | 1> = {
  name: 'idempotency.free',
  sha: '471434f7dd5fc18a735e96fc2dbd12c514320767',
  effect: 'idempotent',
  lua: [
    "local s, t = unpack(redis.call('HMGET', KEYS[1], 's', 't'))",
    "if s ~= 'P' or t ~= ARGV[1] then",
    "  return 0",
    "end",
    "return redis.call('DEL', KEYS[1])",
  ].join('\n'),
};
