import { scanKeys, type EngineContext, type RedisClient, type RedisConnection } from '../connection/index.js';
import { escapeGlob } from '../keys/index.js';
import type { CommandLimits } from './entry-store.js';

const UNLINK_BATCH = 200;
/** A Cluster whose slots move all the time is not waited for. */
const MAX_ROUNDS = 3;

export interface SweepOptions {
  readonly dryRun: boolean;
  readonly limit: number;
}

/** Goes through the keys of all masters: SCAN and UNLINK, never KEYS or FLUSH. Other keys are not touched. */
export class Sweeper {
  readonly #connection: RedisConnection;
  readonly #entryPrefix: string;
  readonly #leasePrefix: string;

  constructor({ connection, keys }: EngineContext) {
    this.#connection = connection;
    this.#entryPrefix = keys.prefix('cache');
    this.#leasePrefix = `${keys.namespace}:cache~lease:`;
  }

  /**
   * Deletes all entries.
   *
   * @returns how many there were
   */
  clear(limits: CommandLimits): Promise<number> {
    return this.#sweep([`${this.#leasePrefix}*`], '*', { dryRun: false, limit: Infinity }, limits);
  }

  /**
   * Deletes the entries whose key, without the prefix of the cache, matches.
   *
   * @returns how many there were
   */
  deletePattern(glob: string, options: SweepOptions, limits: CommandLimits): Promise<number> {
    // A lease has its entry's key in braces, or as it is when that has a tag of its own.
    const key = escapeGlob(this.#entryPrefix) + glob;
    return this.#sweep([`${this.#leasePrefix}{${key}}`, this.#leasePrefix + key], glob, options, limits);
  }

  async #sweep(
    leases: string[],
    glob: string,
    { dryRun, limit }: SweepOptions,
    limits: CommandLimits,
  ): Promise<number> {
    let found = 0;
    for (let round = 1; ; round++) {
      const slots = await this.#slots(limits);
      // The leases first: what began to load before cannot be stored any more, and what is stored meanwhile is found below.
      if (!dryRun)
        for (const pattern of leases) await this.#each(pattern, Infinity, (keys) => this.#unlink(keys, limits), limits);
      const counted = dryRun
        ? (keys: string[]) => Promise.resolve(keys.length)
        : (keys: string[]) => this.#unlink(keys, limits);
      found += await this.#each(escapeGlob(this.#entryPrefix) + glob, limit - found, counted, limits);
      // A slot that moved to a master that had been looked at already took its keys past the search.
      if (dryRun || found >= limit || round === MAX_ROUNDS || slots === (await this.#slots(limits))) return found;
    }
  }

  /** @returns the sum of what `act` gave */
  async #each(
    pattern: string,
    limit: number,
    act: (keys: string[]) => Promise<number>,
    limits: CommandLimits,
  ): Promise<number> {
    let sum = 0;
    for await (const keys of scanKeys(this.#connection, 'cache.scan', pattern, limits)) {
      for (let start = 0; start < keys.length && sum < limit; start += UNLINK_BATCH) {
        sum += await act(keys.slice(start, start + Math.min(UNLINK_BATCH, limit - sum)));
      }
      if (sum >= limit) break;
    }
    return sum;
  }

  async #unlink(keys: string[], limits: CommandLimits): Promise<number> {
    if (keys.length === 0) return 0;
    return this.#connection.run({
      name: 'cache.unlink',
      effect: 'idempotent',
      key: keys[0]!,
      ...limits,
      send: async (client) => {
        if (this.#connection.mode !== 'cluster') return client.unlink(...keys);
        const counts = await Promise.all(keys.map((key) => client.unlink(key)));
        return counts.reduce((sum, count) => sum + count, 0);
      },
    });
  }

  /** Which master has which slots; the same text while that does not change. */
  async #slots(limits: CommandLimits): Promise<string> {
    if (this.#connection.mode !== 'cluster') return '';
    return this.#connection.run({ name: 'cache.slots', effect: 'read', ...limits, send: refreshedSlots });
  }
}

function refreshedSlots(client: RedisClient): Promise<string> {
  if (!('slots' in client)) return Promise.resolve('');
  return new Promise((resolve, reject) => {
    client.refreshSlotsCache((error) => {
      if (error) reject(error);
      else resolve(client.slots.map((nodes) => nodes?.[0]).join());
    });
  });
}
