// Generated from lua/*.lua by `npm run lua`; do not edit.
import type { Script } from '../scripting/index.js';

/**
 * Keeps a message of a channel and sends it to everybody who listens. The key is the channel.
 *
 * - `KEYS[1]` channel
 * - `ARGV[1]` payload
 * - `ARGV[2]` maxLen
 * - `ARGV[3]` ttlMs
 * - `ARGV[4]` command
 * - returns id of the message
 */
export const publishScript: Script<[channel: string], [payload: string, maxLen: number, ttlMs: number, command: 'PUBLISH' | 'SPUBLISH'], string> = {
  name: 'pubsub.publish',
  sha: '59583c4842aba25220b041fd56b614fe73c75002',
  effect: 'once',
  lua: [
    "local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]",
    "local previous = last and last[1] or '0-0'",
    "local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', 'p', previous, 'd', ARGV[1])",
    "redis.call('PEXPIRE', KEYS[1], ARGV[3])",
    "redis.call(ARGV[4], KEYS[1], '>' .. previous .. '|' .. id .. '|' .. ARGV[1])",
    "return id",
  ].join('\n'),
};

/**
 * Reads what is kept of a channel, from after an id on.
 *
 * - `KEYS[1]` channel
 * - `ARGV[1]` after: id, exclusive
 * - `ARGV[2]` count: most messages; 0: none
 * - returns id of the last message ('0-0': there is none), server time
 */
export const readScript: Script<[channel: string], [after: string, count: number], [tail: string, nowMs: number, messages: [id: string, fields: string[]][]]> = {
  name: 'pubsub.read',
  sha: '41251d61dc6be60454f62b084903eb1b8495cfdc',
  effect: 'read',
  lua: [
    "local time = redis.call('TIME')",
    "local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]",
    "local messages = {}",
    "if last and ARGV[2] ~= '0' then messages = redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2]) end",
    "return { last and last[1] or '0-0', time[1] * 1000 + math.floor(time[2] / 1000), messages }",
  ].join('\n'),
};
