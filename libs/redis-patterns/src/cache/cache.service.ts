import { CodecError } from '../codec/index.js';
import type { EngineContext } from '../connection/index.js';
import { toMilliseconds, type Duration } from '../core/duration.js';
import { InvalidOptionsError } from '../core/errors.js';
import { parseOptions } from '../core/options.js';
import type { Key } from '../keys/index.js';
import type { CacheBulkFactory } from './bulk.js';
import { CacheEngine } from './cache-engine.js';
import { CachePolicy } from './cache-policy.js';
import { CacheInvalidationError, CacheValueTooLargeError } from './cache.errors.js';
import type {
  CacheDeletePatternOptions,
  CacheLoadOptions,
  CacheSetOptions,
  ResolvedCacheOptions,
} from './cache.options.js';
import { deletePatternSchema, keysOfSchema, tagsSchema } from './cache.schema.js';
import type { CacheStats } from './cache-stats.js';
import type { CacheFactory } from './load-context.js';
import { isRedisFailure } from './redis-failure.js';
import { tagNames } from './tags.js';

/**
 * Cache-aside on Redis. Reads never fail because of Redis: without it they load, at most `operationTimeout` later. Writes and
 * invalidations reject when Redis does not answer. A value whose load began before an eviction, a `set`, an invalidation of
 * one of its tags or a `clear` is never given to a call that begins after that was acknowledged.
 *
 * @example
 * ```ts
 * constructor(private readonly cache: CacheService) {}
 * find = (id: number) => this.cache.getOrSet(['product', id], () => this.repository.find(id), { ttl: '10m' });
 * ```
 */
export class CacheService {
  readonly #engine: CacheEngine;
  /** Of calls that bring no options. */
  readonly #plain: CachePolicy;

  constructor(
    context: EngineContext,
    /** Options of the engine, resolved; times in milliseconds. */
    readonly options: ResolvedCacheOptions,
  ) {
    this.#engine = new CacheEngine(context, options);
    this.#plain = CachePolicy.forLoad(undefined, options, 'CacheService.getOrSet');
  }

  /**
   * The fresh value, a copy of its own for each caller; `undefined` when there is none or Redis does not answer.
   *
   * A cached `undefined` looks like a miss; {@link getOrSet} and {@link has} tell them apart.
   *
   * @throws InvalidKeyError
   */
  async get<T>(key: Key): Promise<T | undefined> {
    return (await this.#engine.find(key, 'CacheService.get'))?.value as T | undefined;
  }

  /**
   * The fresh values of several keys, by the very keys that were given; those without one are absent. Costs 1 command for 500
   * keys, in a Cluster 1 for each key, all in one round trip.
   *
   * @throws InvalidKeyError
   */
  async getMany<T, K extends Key = Key>(keys: Iterable<K>): Promise<Map<K, T>> {
    return (await this.#engine.findMany([...keys])) as Map<K, T>;
  }

  /**
   * The cached value, or what the factory makes, which is then stored. Calls of this process share one running factory, and
   * over all processes one at a time stores. `null` and `undefined` are values too.
   *
   * Costs 1 command for a hit and 3 for a load; each tag adds a key to the first, and a command to the second.
   *
   * @throws what the factory throws, unchanged; it is not cached, unless `cacheErrors` says so: then CachedLoadError later
   * @throws CacheLoadTimeoutError after `timeouts.hard`, CacheValueTooLargeError with `onOversize: 'throw'`
   * @throws InvalidKeyError, InvalidOptionsError; `signal.reason` when the caller gives up
   *
   * @example
   * ```ts
   * const rate = await cache.getOrSet(['rate', 'EUR', 'USD'], async ({ signal, setTtl }) => {
   *   const response = await fetch(url, { signal });
   *   setTtl(secondsToExpiry(response) * 1000);
   *   return response.json();
   * });
   * const page = await cache.getOrSet(['page', 7], load, { tags: ['products'], ttl: '10m', stale: '1h' });
   * ```
   */
  getOrSet<T>(
    key: Key,
    factory: CacheFactory<T>,
    options: CacheLoadOptions<T> | CachePolicy = this.#plain,
  ): Promise<T> {
    // Not `async`: on the path of every hit each promise more is felt.
    try {
      const policy =
        options instanceof CachePolicy ? options : CachePolicy.forLoad(options, this.options, 'CacheService.getOrSet');
      policy.signal?.throwIfAborted();
      if (policy.useIf?.() === false) return this.#engine.bypass(key, factory, policy);
      return this.#engine.getOrLoad(key, factory, policy) as Promise<T>;
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  /**
   * {@link getOrSet} for several keys: one read, and one call of the factory for all keys that are missing here and that no other
   * caller loads. Values by the very keys that were given.
   *
   * @throws what the factory throws, unchanged; InvalidKeyError, InvalidOptionsError
   *
   * @example
   * ```ts
   * const keys = ids.map((id) => productCache.key(id));
   * const products = await cache.getOrSetMany(keys, async (missing) => {
   *   const rows = await repository.findByIds(missing.map(([, id]) => id));
   *   return new Map(missing.map((key) => [key, rows.get(key[1])]));
   * });
   * ```
   */
  async getOrSetMany<T, K extends Key = Key>(
    keys: Iterable<K>,
    factory: CacheBulkFactory<K, T>,
    options?: CacheLoadOptions<T>,
  ): Promise<Map<K, T>> {
    const policy = CachePolicy.forLoad(options, this.options, 'CacheService.getOrSetMany');
    policy.signal?.throwIfAborted();
    return (await this.#engine.getOrLoadMany([...keys], factory, policy)) as Map<K, T>;
  }

  /**
   * Stores a value; loads that are running do not store theirs afterwards.
   *
   * @returns `false` when it was not stored: an entry with a higher `version` was kept; or the former entry was evicted, as it
   * is one of a higher `schemaVersion`, or the value is empty with `negativeTtl: 0`, or larger than `maxBytes`
   * @throws RedisUnavailableError, RedisCommandError; the entry is then evicted when Redis answers again
   * @throws CodecError for a value that cannot be stored so that it comes back equal, CacheValueTooLargeError with
   * `onOversize: 'throw'`; the former one is evicted
   * @throws InvalidKeyError, InvalidOptionsError
   */
  async set(key: Key, value: unknown, options?: CacheSetOptions | CachePolicy): Promise<boolean> {
    const policy =
      options instanceof CachePolicy ? options : CachePolicy.forSet(options, this.options, 'CacheService.set');
    return this.#engine.tracer.write('set', policy.name, [key], () =>
      this.#engine.writes.set(this.#engine.keyOf(key), value, policy),
    );
  }

  /**
   * {@link set} for several values. All are tried, also when one fails.
   *
   * @returns how many were stored
   * @throws the first error, when all have been tried
   */
  async setMany(entries: Iterable<readonly [key: Key, value: unknown]>, options?: CacheSetOptions): Promise<number> {
    const policy = CachePolicy.forSet(options, this.options, 'CacheService.setMany');
    const list = [...entries];
    const keys = list.map(([key]) => key);
    const values = list.map(([key, value]) => [this.#engine.keyOf(key), value] as const);
    return this.#engine.tracer.write('set', policy.name, keys, () => this.#engine.writes.setMany(values, policy));
  }

  /**
   * Deletes an entry; loads that are running do not store theirs afterwards.
   *
   * @param options `quarantine`: for so long loads do not store, for databases whose replicas lag behind
   * @returns whether there was an entry
   * @throws RedisUnavailableError, RedisCommandError; the entry is then evicted when Redis answers again
   * @throws InvalidKeyError, InvalidOptionsError
   */
  async evict(key: Key, { quarantine = 0 }: { quarantine?: Duration } = {}): Promise<boolean> {
    const ms = toMilliseconds(quarantine, 'CacheService.evict', 'quarantine');
    return this.#engine.tracer.write('evict', 'CacheService.evict', [key], () =>
      this.#engine.writes.evict(this.#engine.keyOf(key), ms),
    );
  }

  /**
   * {@link evict} for several keys. All are tried, also when one fails.
   *
   * @returns how many entries there were
   * @throws the first error, when all have been tried
   */
  async evictMany(keys: Iterable<Key>): Promise<number> {
    const list = [...keys];
    return this.#engine.tracer.write('evict', 'CacheService.evictMany', list, () =>
      this.#engine.writes.evictMany(list.map((key) => this.#engine.keyOf(key))),
    );
  }

  /**
   * Ends the fresh time of an entry: the next call loads. A stale copy stays for its stale time; without one the entry is deleted.
   *
   * @returns whether there was an entry
   * @throws RedisUnavailableError, RedisCommandError; the entry is then evicted when Redis answers again
   */
  async expire(key: Key): Promise<boolean> {
    return this.#engine.tracer.write('expire', 'CacheService.expire', [key], () =>
      this.#engine.writes.expire(this.#engine.keyOf(key)),
    );
  }

  /**
   * Invalidates every entry that has one of the tags, whatever their number, and the loads of such entries that are running.
   * Costs 1 command, and then 1 for each tag.
   *
   * @throws RedisUnavailableError, RedisCommandError; the tags are then invalidated when Redis answers again
   * @throws InvalidOptionsError
   *
   * @example
   * ```ts
   * await cache.invalidateTags(['products', `category:${id}`]);
   * ```
   */
  async invalidateTags(tags: readonly string[]): Promise<void> {
    const names = tagNames(parseOptions(tagsSchema, tags, 'CacheService.invalidateTags', 'tags'));
    if (names.length === 0) return;
    await this.#engine.tracer.write('invalidate', 'CacheService.invalidateTags', [], () =>
      this.#engine.writes.invalidateTags(names),
    );
  }

  /**
   * Keys of the entries that have a tag, without the namespace, as `evict` takes them; those that expire first come first. Needs
   * `cache.tagIndex`. For a look at what is there, not for decisions: an entry may be missing, or be gone already.
   *
   * @param options `limit`: how many at most, default 1 000
   * @throws InvalidOptionsError, also without `cache.tagIndex`; RedisUnavailableError, RedisCommandError
   *
   * @example
   * ```ts
   * await cache.keysOf('products'); // ['product:42', 'page:1']
   * ```
   */
  async keysOf(tag: string, options: { limit?: number } = {}): Promise<string[]> {
    const { limit } = parseOptions(keysOfSchema, { ...options, tag }, 'CacheService.keysOf');
    return this.#engine.keysOf(tagNames([tag])[0]!, limit);
  }

  /**
   * Deletes the entries whose key matches a glob, on all masters, with SCAN and UNLINK. The glob is that of Redis (`*`, `?`,
   * `[ab]`, `\` before a character that is meant as it is), for the key without namespace: `product:*`. Meant for tools: it goes
   * through all keys of the database. Tags are the way to invalidate many entries in a running application.
   *
   * @returns how many entries there were
   * @throws RedisUnavailableError, RedisCommandError, also when a part has been deleted; InvalidOptionsError
   */
  async deletePattern(glob: string, options: CacheDeletePatternOptions = {}): Promise<number> {
    const where = 'CacheService.deletePattern';
    const { dryRun, limit = Infinity } = parseOptions(deletePatternSchema, options, where);
    if (typeof glob === 'string' && glob !== '')
      return this.#engine.tracer.write('delete-pattern', 'CacheService.deletePattern', [], () =>
        this.#engine.writes.deletePattern(glob, { dryRun, limit }),
      );
    throw new InvalidOptionsError(where, [{ path: 'glob', message: "must be a text such as 'product:*'" }]);
  }

  /**
   * Deletes all entries of this namespace, on all masters, with SCAN and UNLINK; other keys are not touched. Loads that are running
   * do not store afterwards.
   *
   * @returns how many entries there were
   * @throws RedisUnavailableError, RedisCommandError; all is then cleared when Redis answers again
   */
  async clear(): Promise<number> {
    return this.#engine.tracer.write('clear', 'CacheService.clear', [], () => this.#engine.writes.clear());
  }

  /** Whether {@link get} would find a value, `null` and `undefined` included. `false` when Redis does not answer. */
  async has(key: Key): Promise<boolean> {
    return (await this.#engine.find(key, 'CacheService.has')) !== undefined;
  }

  /**
   * Milliseconds that the value stays fresh; 0 when there is only a stale copy, `undefined` when there is nothing or Redis does not
   * answer. Costs 2 commands in one round trip.
   */
  async ttl(key: Key): Promise<number | undefined> {
    return this.#engine.freshFor(key);
  }

  /** What this process has seen since it started, and what it holds. Costs nothing. */
  stats(): CacheStats {
    return this.#engine.stats();
  }

  /**
   * What a decorated method does when it has done its work and the cache could not be told: as `onInvalidationError` says.
   *
   * @internal
   * @throws CacheInvalidationError; `error` itself when it is no failure of Redis, the codec or the size
   */
  invalidationFailed(method: string, result: unknown, error: unknown): void {
    const isKnown = isRedisFailure(error) || error instanceof CodecError || error instanceof CacheValueTooLargeError;
    if (!isKnown) throw error;
    if (this.options.onInvalidationError === 'throw') throw new CacheInvalidationError(method, result, error);
    const message = `${method} has done its work, but its cache entry could not be changed; it is evicted as soon as Redis answers: ${error.message}`;
    this.#engine.telemetry.emit('error', { pattern: 'Cache', code: 'ERR_CACHE_INVALIDATION', message, error });
  }

  /**
   * For a decorated method whose work begins before the key is used.
   *
   * @internal
   * @returns the same key
   * @throws InvalidKeyError
   */
  checkedKey(key: Key): Key {
    this.#engine.keyOf(key);
    return key;
  }

  /**
   * Says, in telemetry and so in the log, what works, but somebody should look at.
   *
   * @internal
   */
  warn(code: `ERR_${string}`, message: string): void {
    this.#engine.telemetry.emit('warning', { pattern: 'Cache', code, message });
  }

  /** Lets running loads end, for 2 s at most, then aborts their signal. Queued evictions are dropped. */
  close(): Promise<void> {
    return this.#engine.close();
  }
}
