import type { EngineContext } from '../connection/index.js';
import { CodecError } from '../codec/index.js';
import { toMilliseconds, type Duration } from '../core/duration.js';
import type { Key } from '../keys/index.js';
import type { Telemetry } from '../telemetry/index.js';
import { CachePolicy } from './cache-policy.js';
import { CacheInvalidationError } from './cache.errors.js';
import type { CacheLoadOptions, CacheSetOptions, ResolvedCacheOptions } from './cache.options.js';
import { DeferredEvictions } from './deferred-evictions.js';
import { decodeContent, encodeContent, type Content } from './entry.js';
import { EntryReader, type Found } from './entry-reader.js';
import { EntryStore } from './entry-store.js';
import { Flights } from './flights.js';
import { FactoryContext, type CacheFactory } from './load-context.js';
import { Loader } from './loader.js';
import { isRedisFailure } from './redis-failure.js';
import { TimeBudget } from './time-budget.js';

/** A caller that a load did not cover joins another one so many times in all, then it loads for itself. */
const MAX_JOINS = 2;
const EVICT_BATCH = 500;
/** Milliseconds that running loads have when the application closes. */
const CLOSE_GRACE = 2_000;

/**
 * Cache-aside on Redis. Reads never fail because of Redis: without it they load, at most `operationTimeout` later. Writes and
 * evictions reject when Redis does not answer. A value whose load began before an eviction or a `set` is never
 * stored, nor given to a call that begins afterwards.
 *
 * @example
 * ```ts
 * constructor(private readonly cache: CacheService) {}
 * find = (id: number) => this.cache.getOrSet(['product', id], () => this.repository.find(id), { ttl: '10m' });
 * ```
 */
export class CacheService {
  readonly #store: EntryStore;
  readonly #reader: EntryReader;
  readonly #flights = new Flights();
  readonly #loader: Loader;
  readonly #deferred: DeferredEvictions;
  readonly #telemetry: Telemetry;
  readonly #warned = new Set<string>();

  constructor(
    context: EngineContext,
    /** Options of the engine, resolved; times in milliseconds. */
    readonly options: ResolvedCacheOptions,
  ) {
    this.#telemetry = context.telemetry;
    this.#store = new EntryStore(context, options.schemaVersion);
    this.#deferred = new DeferredEvictions(this.#store, context.telemetry);
    this.#reader = new EntryReader(this.#store, options.schemaVersion);
    this.#loader = new Loader(this.#store, this.#reader, this.#flights, {
      operationTimeout: options.operationTimeout,
      onUncacheable: (policy, error) => this.#warnOnce(policy.name, error),
    });
  }

  /**
   * The value, a copy of its own for each caller; `undefined` when there is none or Redis does not answer.
   *
   * A cached `undefined` looks like a miss; {@link getOrSet} and {@link has} tell them apart.
   *
   * @throws InvalidKeyError
   */
  async get<T>(key: Key): Promise<T | undefined> {
    const found = await this.#read(this.#store.keyOf(key), this.#budget());
    return found.state === 'hit' ? (found.value as T) : undefined;
  }

  /**
   * The cached value, or what the factory makes, which is then stored. Calls of this process share one running factory, and
   * over all processes one at a time stores. `null` and `undefined` are values too.
   *
   * Costs 1 command for a hit and 3 for a load.
   *
   * @throws what the factory throws, unchanged; it is not cached
   * @throws InvalidKeyError, InvalidOptionsError; `signal.reason` when the caller gives up
   *
   * @example
   * ```ts
   * const rate = await cache.getOrSet(['rate', 'EUR', 'USD'], async ({ signal, setTtl }) => {
   *   const response = await fetch(url, { signal });
   *   setTtl(secondsToExpiry(response) * 1000);
   *   return response.json();
   * });
   * ```
   */
  async getOrSet<T>(key: Key, factory: CacheFactory<T>, options?: CacheLoadOptions<T> | CachePolicy): Promise<T> {
    const policy =
      options instanceof CachePolicy ? options : CachePolicy.forLoad(options, this.options, 'CacheService.getOrSet');
    policy.signal?.throwIfAborted();
    if (policy.useIf?.() === false) return factory(contextOf(policy));
    return (await this.#getOrLoad(this.#store.keyOf(key), factory, policy)) as T;
  }

  /**
   * Stores a value; loads that are running do not store theirs afterwards.
   *
   * @returns `false` when it was not stored: an entry with a higher `version` was kept, the entry was one of a higher
   * `schemaVersion` (and is evicted), or it is an empty value with `negativeTtl: 0` (then, too, the former one is evicted)
   * @throws RedisUnavailableError, RedisCommandError; the entry is then evicted when Redis answers again
   * @throws CodecError for a value that cannot be stored so that it comes back equal; the former one is evicted
   * @throws InvalidKeyError, InvalidOptionsError
   */
  async set(key: Key, value: unknown, options?: CacheSetOptions | CachePolicy): Promise<boolean> {
    const policy =
      options instanceof CachePolicy ? options : CachePolicy.forSet(options, this.options, 'CacheService.set');
    const entryKey = this.#store.keyOf(key);
    const ttl = policy.ttlOf(value);
    if (ttl === 0) {
      await this.#evict(entryKey, 0);
      return false;
    }
    const content = await this.#encodeOrEvict(entryKey, value);
    const entry = { content, ttl, loadMs: 0, version: policy.version };
    return this.#write(entryKey, () => this.#store.put(entryKey, entry, this.#limits));
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
    const entryKey = this.#store.keyOf(key);
    return this.#evict(entryKey, toMilliseconds(quarantine, 'CacheService.evict', 'quarantine'));
  }

  /**
   * {@link evict} for several keys. All are tried, also when one fails.
   *
   * @returns how many entries there were
   * @throws the first error, when all have been tried
   */
  async evictMany(keys: readonly Key[]): Promise<number> {
    const entryKeys = [...new Set(keys.map((key) => this.#store.keyOf(key)))];
    const results: PromiseSettledResult<boolean>[] = [];
    for (let start = 0; start < entryKeys.length; start += EVICT_BATCH) {
      const batch = entryKeys.slice(start, start + EVICT_BATCH);
      results.push(...(await Promise.allSettled(batch.map((entryKey) => this.#evict(entryKey, 0)))));
    }
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return results.filter((result) => result.status === 'fulfilled' && result.value).length;
  }

  /**
   * Ends the fresh time of an entry. As no entry of this release has a stale copy, that is what {@link evict} does.
   *
   * @returns whether there was an entry
   * @throws RedisUnavailableError, RedisCommandError; the entry is then evicted when Redis answers again
   */
  async expire(key: Key): Promise<boolean> {
    const entryKey = this.#store.keyOf(key);
    return this.#write(entryKey, () => this.#store.expire(entryKey, this.#limits));
  }

  /** Whether {@link get} would find a value, `null` and `undefined` included. `false` when Redis does not answer. */
  async has(key: Key): Promise<boolean> {
    return (await this.#read(this.#store.keyOf(key), this.#budget())).state === 'hit';
  }

  /** Milliseconds that the value has left, at least 1; `undefined` when there is none or Redis does not answer. Costs 2 commands. */
  async ttl(key: Key): Promise<number | undefined> {
    const entryKey = this.#store.keyOf(key);
    return this.#deferred.has(entryKey) ? undefined : this.#reader.freshFor(entryKey, this.#budget());
  }

  /**
   * What a decorated method does when it has done its work and the cache could not be told: as `onInvalidationError` says.
   *
   * @internal
   * @throws CacheInvalidationError; `error` itself when it is no failure of Redis or the codec
   */
  invalidationFailed(method: string, result: unknown, error: unknown): void {
    if (!isRedisFailure(error) && !(error instanceof CodecError)) throw error;
    if (this.options.onInvalidationError === 'throw') throw new CacheInvalidationError(method, result, error);
    const message = `${method} has done its work, but not changed its cache entry, which is evicted instead: ${error.message}`;
    this.#telemetry.emit('error', { pattern: 'Cache', code: 'ERR_CACHE_INVALIDATION', message, error });
  }

  /** Lets running loads end, for 2 s at most, then aborts their signal. Queued evictions are dropped. */
  async close(): Promise<void> {
    this.#deferred.close();
    await this.#flights.drain(AbortSignal.timeout(CLOSE_GRACE));
  }

  async #getOrLoad(entryKey: string, factory: CacheFactory<unknown>, policy: CachePolicy): Promise<unknown> {
    const { signal } = policy;
    for (let joins = 0; ; joins++) {
      const budget = this.#budget();
      const found = await this.#read(entryKey, budget);
      if (found.state === 'hit') return found.value;
      signal?.throwIfAborted();
      const running = joins < MAX_JOINS ? this.#flights.find(entryKey) : undefined;
      if (running === undefined) {
        const seenId = found.state === 'miss' ? found.seenId : '';
        const request = { entryKey, seenId, factory, policy, budget, offline: found.state === 'offline' };
        return (await this.#loader.start(request).wait(signal)).value;
      }
      const { ticket } = running;
      const { content, covers, offline } = await running.wait(signal);
      // What cannot be copied cannot be shared: each caller makes its own.
      if (content === undefined) return factory(contextOf(policy));
      if (ticket <= covers || (offline && found.state === 'offline')) return decodeContent(content);
    }
  }

  /** What is to be evicted counts as missing until Redis has been told. */
  async #read(entryKey: string, budget: TimeBudget): Promise<Found> {
    return this.#deferred.has(entryKey) ? { state: 'offline' } : this.#reader.read(entryKey, budget);
  }

  #evict(entryKey: string, quarantineMs: number): Promise<boolean> {
    return this.#write(entryKey, () => this.#store.evict(entryKey, quarantineMs, this.#limits));
  }

  /** Nobody joins a load that began before the change, or before it is acknowledged; a change that fails is made up for. */
  async #write<T>(entryKey: string, send: () => Promise<T>): Promise<T> {
    this.#flights.detach(entryKey);
    try {
      return await send();
    } catch (error) {
      if (isRedisFailure(error)) this.#deferred.add(entryKey);
      throw error;
    } finally {
      this.#flights.detach(entryKey);
    }
  }

  async #encodeOrEvict(entryKey: string, value: unknown): Promise<Content> {
    try {
      return encodeContent(value);
    } catch (error) {
      await this.#evict(entryKey, 0);
      throw error;
    }
  }

  #warnOnce(name: string, error: unknown): void {
    if (this.#warned.has(name)) return;
    this.#warned.add(name);
    const message = `A value of ${name} is returned, but not cached: ${(error as Error).message}`;
    this.#telemetry.emit('warning', { pattern: 'Cache', code: 'ERR_CODEC', message });
  }

  #budget(): TimeBudget {
    return new TimeBudget(this.options.operationTimeout);
  }

  get #limits(): { deadline: number } {
    return { deadline: this.options.operationTimeout };
  }
}

/** For a factory that is run without the cache. */
function contextOf(policy: CachePolicy): FactoryContext {
  return new FactoryContext({ signal: policy.signal ?? new AbortController().signal }, policy);
}
