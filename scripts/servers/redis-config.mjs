// @ts-check
import { commonLines } from './security.mjs';

/**
 * @typedef {object} RedisOptions
 * @property {'none' | 'aof' | 'rdb'} [persistence] none (default): a killed server comes back empty; aof: every write
 *   is on disk before the reply; rdb: what SAVE wrote
 * @property {Record<string, string | number>} [config] further directives, they win
 * @property {readonly string[]} [appRules] ACL rules of the application's user; everything by default
 */

/**
 * The configuration lines of a data-carrying server.
 *
 * @param {import('./process.mjs').Runtime} runtime
 * @param {{ dir: string, port: number }} place
 * @param {RedisOptions & { extra?: readonly string[] }} [options]
 * @returns {Promise<string[]>}
 */
export async function redisLines(runtime, place, { persistence = 'none', config = {}, appRules, extra = [] } = {}) {
  const lines = await commonLines(runtime, place, appRules);
  lines.push('databases 16', 'save ""', `appendonly ${persistence === 'aof' ? 'yes' : 'no'}`);
  if (persistence === 'aof') lines.push('appendfsync always');
  // Else a replica keeps the snapshot it was synchronised with, and would load it after a crash.
  if (persistence === 'none') lines.push('rdb-del-sync-files yes');
  lines.push('repl-diskless-sync yes', 'repl-diskless-sync-delay 0', 'repl-ping-replica-period 1', 'repl-timeout 10');
  if (runtime.users)
    lines.push(`masteruser ${runtime.users.admin.username}`, `masterauth ${runtime.users.admin.password}`);
  // DEBUG exists in every version, but only from 7 on it has to be enabled (and only there the directive is known).
  if (runtime.binary.version[0] >= 7) lines.push('enable-debug-command yes');
  lines.push(...extra);
  for (const [name, value] of Object.entries(config)) lines.push(`${name} ${value}`);
  return lines;
}
