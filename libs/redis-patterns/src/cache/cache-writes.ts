import type { CachePolicy } from './cache-policy.js';
import type { Encoded, Encoder } from './encoder.js';
import type { EntryStore } from './entry-store.js';
import type { Flights } from './flights.js';
import type { L1 } from './l1/l1.js';
import type { RecoveryQueue } from './recovery-queue.js';
import { isRedisFailure, mayHaveRun } from './redis-failure.js';
import type { Sweeper, SweepOptions } from './sweeper.js';
import { formatTags, type TagNames, type Token } from './tags.js';

const BATCH = 500;
/** Milliseconds for one step of a walk through all keys: a part of them at a time. */
const SWEEP_STEP = 5_000;

export interface WriteParts {
  readonly store: EntryStore;
  readonly sweeper: Sweeper;
  readonly flights: Flights;
  readonly recovery: RecoveryQueue;
  readonly encoder: Encoder;
  readonly l1: L1 | undefined;
  /** Milliseconds. */
  readonly operationTimeout: number;
}

/**
 * Changes of entries. Whatever this process holds of an entry is dropped before the command is sent and after its answer, so
 * that nobody joins a load, or gets a copy, from before. What Redis could not be told is made up for.
 */
export class CacheWrites {
  constructor(private readonly parts: WriteParts) {}

  /** @returns whether it was stored */
  async set(entryKey: string, value: unknown, policy: CachePolicy): Promise<boolean> {
    return this.#put(entryKey, value, policy, await this.#tokensOf([entryKey], policy.tags));
  }

  /** @returns how many were stored */
  async setMany(
    values: readonly (readonly [entryKey: string, value: unknown])[],
    policy: CachePolicy,
  ): Promise<number> {
    const tokens = await this.#tokensOf(
      values.map(([entryKey]) => entryKey),
      policy.tags,
    );
    return countOf(values, ([entryKey, value]) => this.#put(entryKey, value, policy, tokens));
  }

  /** @returns whether there was an entry */
  evict(entryKey: string, quarantineMs: number): Promise<boolean> {
    return this.#change(entryKey, () => this.parts.store.evict(entryKey, quarantineMs, this.#limits));
  }

  /** @returns how many there were */
  evictMany(entryKeys: readonly string[]): Promise<number> {
    return countOf([...new Set(entryKeys)], (entryKey) => this.evict(entryKey, 0));
  }

  /** @returns whether there was an entry */
  expire(entryKey: string): Promise<boolean> {
    return this.#change(entryKey, () => this.parts.store.expire(entryKey, this.#limits));
  }

  async invalidateTags(tags: TagNames): Promise<void> {
    const { store, flights, l1, recovery } = this.parts;
    const forget = (): void => {
      flights.detachTags(tags);
      l1?.dropTags(tags);
    };
    forget();
    try {
      await store.tags.invalidate(tags, this.#limits);
    } catch (error) {
      if (isRedisFailure(error)) for (const tag of tags) recovery.add('invalidate', tag);
      throw error;
    } finally {
      forget();
    }
  }

  async deletePattern(glob: string, options: SweepOptions): Promise<number> {
    const { sweeper } = this.parts;
    const sweep = () => sweeper.deletePattern(glob, options, { deadline: SWEEP_STEP });
    return options.dryRun ? sweep() : this.#changeAll(sweep);
  }

  async clear(): Promise<number> {
    const { sweeper, recovery } = this.parts;
    try {
      return await this.#changeAll(() => sweeper.clear({ deadline: SWEEP_STEP }));
    } catch (error) {
      if (isRedisFailure(error)) recovery.add('clear', '');
      throw error;
    }
  }

  async #put(entryKey: string, value: unknown, policy: CachePolicy, tokens: readonly Token[]): Promise<boolean> {
    const { fresh, stale } = policy.lifetimeOf(value);
    const encoded = fresh === 0 ? undefined : await this.#encodeOrEvict(entryKey, value, policy.name);
    if (encoded?.storable !== true) {
      await this.evict(entryKey, 0);
      return false;
    }
    const entry = {
      content: encoded.content,
      freshMs: fresh,
      staleMs: stale,
      loadMs: 0,
      version: policy.version,
      tags: formatTags(policy.tags, tokens),
    };
    return this.#change(entryKey, () => this.parts.store.put(entryKey, entry, this.#limits));
  }

  async #encodeOrEvict(entryKey: string, value: unknown, name: string): Promise<Encoded> {
    try {
      return this.parts.encoder.encode(value, name);
    } catch (error) {
      await this.evict(entryKey, 0);
      throw error;
    }
  }

  /** The tokens of tags that a value is stored under. Without them it cannot be, and the former one has to go. */
  async #tokensOf(entryKeys: readonly string[], tags: TagNames): Promise<readonly Token[]> {
    if (tags.length === 0) return [];
    try {
      return await this.parts.store.tags.take(tags, this.#limits);
    } catch (error) {
      for (const entryKey of entryKeys) {
        this.#forget(entryKey);
        if (isRedisFailure(error)) this.parts.recovery.add('evict', entryKey);
      }
      throw error;
    }
  }

  async #change<T>(entryKey: string, send: () => Promise<T>): Promise<T> {
    this.#forget(entryKey);
    try {
      return await send();
    } catch (error) {
      if (isRedisFailure(error)) this.parts.recovery.add('evict', entryKey, mayHaveRun(error));
      throw error;
    } finally {
      this.#forget(entryKey);
    }
  }

  async #changeAll<T>(send: () => Promise<T>): Promise<T> {
    const { flights, l1 } = this.parts;
    const forget = (): void => {
      flights.detachAll();
      l1?.flush();
    };
    forget();
    try {
      return await send();
    } finally {
      forget();
    }
  }

  #forget(entryKey: string): void {
    this.parts.flights.detach(entryKey);
    this.parts.l1?.drop(entryKey);
  }

  get #limits(): { deadline: number } {
    return { deadline: this.parts.operationTimeout };
  }
}

/**
 * Does something with all, some of them at a time, also when one fails.
 *
 * @returns for how many it gave true
 * @throws the first error, when all have been tried
 */
async function countOf<T>(all: readonly T[], act: (one: T) => Promise<boolean>): Promise<number> {
  let count = 0;
  let failed: PromiseRejectedResult | undefined;
  for (let start = 0; start < all.length; start += BATCH) {
    for (const result of await Promise.allSettled(all.slice(start, start + BATCH).map(act))) {
      if (result.status === 'rejected') failed ??= result;
      else if (result.value) count++;
    }
  }
  if (failed !== undefined) throw failed.reason;
  return count;
}
