import type { Redis } from 'ioredis';
import type { ApplicationConnection } from '../connection/index.js';
import { RedisPatternsError } from '../core/errors.js';
import { within } from '../core/timer.js';

/** What came of asking the masters of a connection. */
export interface Answers {
  /** None of them has answered. */
  readonly silent: boolean;
  /** Codes and words for what is wrong: `ERR_REDIS_DEADLINE`, `LOADING`, `node`, `role`, `memory`. */
  readonly reasons: readonly string[];
}

/** Of the time for an answer, the part that one node has: the rest is for the way through this process. */
const SHARE = 0.8;

/**
 * One PING (and one INFO) to each master, through the gate, so that bulkhead and breaker have their say.
 *
 * @param timeout milliseconds; the answer never takes longer
 * @param memory share of `maxmemory` that may be used where nothing is evicted; `false`: nobody asks
 */
export async function askMasters(
  connection: ApplicationConnection,
  timeout: number,
  memory: number | false,
): Promise<Answers> {
  try {
    const found = await connection.run({
      name: 'health.ping',
      effect: 'read',
      deadline: timeout,
      send: (client) => {
        const masters = connection.masters();
        const nodes = masters.length > 0 ? masters : [client as Redis];
        return Promise.all(nodes.map((node) => askNode(node, timeout * SHARE, memory)));
      },
    });
    const silent = found.every((reasons) => reasons.includes('node'));
    return { silent, reasons: [...new Set(found.flat())] };
  } catch (error) {
    return { silent: true, reasons: [error instanceof RedisPatternsError ? error.code : 'node'] };
  }
}

async function askNode(node: Redis, ms: number, memory: number | false): Promise<string[]> {
  const info = memory === false ? Promise.resolve('') : node.info('memory', 'replication').catch(() => '');
  const pong = node.ping().then(
    () => [],
    // A server that refuses is there: LOADING, NOAUTH, MASTERDOWN.
    (error: Error) => [/^[A-Z]{4,}(?= )/.exec(error.message)?.[0] ?? 'node'],
  );
  return within(
    ms,
    Promise.all([pong, info]).then(([trouble, text]) => [...trouble, ...judge(text, memory)]),
    ['node'],
    { keepAlive: true },
  );
}

function judge(info: string, memory: number | false): string[] {
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const reasons: string[] = [];
  if (field('role') === 'slave') reasons.push('role');
  const [used, most] = [Number(field('used_memory')), Number(field('maxmemory'))];
  const isFull = memory !== false && most > 0 && used / most >= memory;
  if (isFull && field('maxmemory_policy') === 'noeviction') reasons.push('memory');
  return reasons;
}
