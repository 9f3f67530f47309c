// Generated from lua/*.lua by `npm run lua`; do not edit.
import type { Script } from '../scripting/index.js';

/**
 * Drops all keys of one structure.
 *
 * - `KEYS[1...]` keys: its keys
 * - `ARGV[1]` from: begin of the bucket that is meant to be the present one
 * - `ARGV[2]` to: its end; 0: whatever the time is
 * - returns how many there were
 */
export const dropScript: Script<[...keys: string[]], [from: number, to: number], [state: 'moved', now: string] | [state: 'ok', dropped: number]> = {
  name: 'buckets.drop',
  sha: '7842141e8007e445b96a00baf8019f6578b76f55',
  effect: 'idempotent',
  lua: [
    "local time = redis.call('TIME')",
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)",
    "local from, to = tonumber(ARGV[1]), tonumber(ARGV[2])",
    "if to > 0 and (now < from or now >= to) then",
    "  return { 'moved', string.format('%.0f', now) }",
    "end",
    "return { 'ok', redis.call('UNLINK', unpack(KEYS)) }",
  ].join('\n'),
};
