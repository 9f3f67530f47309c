import type { EngineContext } from '../connection/index.js';
import { InvalidOptionsError } from '../core/errors.js';
import type { Key } from '../keys/index.js';
import type { Telemetry } from '../telemetry/index.js';
import { Bulk, type CacheBulkFactory } from './bulk.js';
import { CachePolicy } from './cache-policy.js';
import { CacheTracer, WORDS, type Count, type LookupNote } from './cache-tracer.js';
import type { ResolvedCacheOptions } from './cache.options.js';
import { newCounters, type CacheStats } from './cache-stats.js';
import { CacheWrites } from './cache-writes.js';
import { Encoder } from './encoder.js';
import { EntryReader, OFFLINE } from './entry-reader.js';
import { EntryStore } from './entry-store.js';
import { Flights } from './flights.js';
import { L1 } from './l1/l1.js';
import type { CacheFactory } from './load-context.js';
import { Loader } from './loader.js';
import { contextOf, Lookup } from './lookup.js';
import { RecoveryQueue } from './recovery-queue.js';
import { Sweeper } from './sweeper.js';
import { TagIndex } from './tag-index.js';
import { NO_TAGS } from './tags.js';

/** Milliseconds that running loads have when the application closes. */
const CLOSE_GRACE = 2_000;

/** The parts of the cache, put together. */
export class CacheEngine {
  readonly telemetry: Telemetry;
  readonly writes: CacheWrites;
  readonly tracer: CacheTracer;
  readonly #store: EntryStore;
  readonly #reader: EntryReader;
  readonly #flights = new Flights();
  readonly #recovery: RecoveryQueue;
  readonly #l1: L1 | undefined;
  readonly #index: TagIndex | undefined;
  readonly #lookup: Lookup;
  readonly #counters = newCounters();
  readonly #plain: CachePolicy;
  readonly #entryPrefix: string;
  readonly #operationTimeout: number;

  constructor(context: EngineContext, options: ResolvedCacheOptions) {
    const { telemetry, connection, keys } = context;
    const { operationTimeout, l1 } = options;
    if (l1 !== undefined && connection.readsReplicas) {
      const message = `needs reads from the master: a copy could be filled with what its replica has not heard of; leave out 'readFrom' of connection '${connection.name}', or l1`;
      throw new InvalidOptionsError('CacheService', [{ path: 'cache.l1', message }]);
    }
    const [flights, counters] = [this.#flights, this.#counters];
    this.telemetry = telemetry;
    const tracer = new CacheTracer(context);
    this.tracer = tracer;
    this.#entryPrefix = keys.prefix('cache');
    this.#operationTimeout = operationTimeout;
    this.#plain = CachePolicy.forLoad(undefined, options, 'CacheService');
    this.#index = options.tagIndex ? new TagIndex(context) : undefined;
    const store = new EntryStore(context, options.schemaVersion, options, options.compression, this.#index);
    const encoder = new Encoder(options, telemetry, connection.name);
    const sweeper = new Sweeper(context);
    const recovery = new RecoveryQueue(
      {
        evict: (entryKey, limits) => store.evict(entryKey, 0, limits),
        invalidate: (tag, limits) => store.tags.invalidate([tag], limits),
        clear: (limits) => sweeper.clear(limits),
      },
      telemetry,
      options.maxRecovery,
    );
    const reader = new EntryReader(store, options, recovery.isInvalid);
    const loader = new Loader(store, reader, flights, { operationTimeout, encoder, counters, tracer });
    this.#l1 = l1 === undefined ? undefined : new L1(l1, connection, this.#entryPrefix, store.tags.prefix);
    this.#store = store;
    this.#recovery = recovery;
    this.#reader = reader;
    const labels = { connection: connection.name };
    telemetry.gauges.add('cache_loads_running', () => [{ labels, value: flights.size }]);
    telemetry.gauges.add('cache_waiters', () => [{ labels, value: flights.waiters }]);
    telemetry.gauges.add('cache_invalidations_queued', () => [{ labels, value: recovery.size }]);
    this.#lookup = new Lookup({
      reader,
      flights,
      loader,
      recovery,
      counters,
      operationTimeout,
      l1: this.#l1,
      onRefreshFailed: ({ name }, error) => {
        const message = `A value of ${name} could not be refreshed; its former one is used until its stale time ends.`;
        telemetry.emit('error', { pattern: 'Cache', code: 'ERR_CACHE_REFRESH', message, error });
      },
    });
    this.writes = new CacheWrites({ store, sweeper, flights, recovery, encoder, operationTimeout, l1: this.#l1 });
  }

  /** @throws InvalidKeyError */
  keyOf(key: Key): string {
    return this.#store.keyOf(key);
  }

  /** The fresh value; in an object, as `undefined` is a value. */
  find(key: Key, name: string): Promise<{ readonly value: unknown } | undefined> {
    if (!this.tracer.active) return this.#find(key);
    return this.tracer.get(name, key, (note) => this.#find(key, note));
  }

  async #find(key: Key, note?: LookupNote): Promise<{ readonly value: unknown } | undefined> {
    const entryKey = this.keyOf(key);
    const copy = this.#lookup.near(entryKey, this.#plain, note);
    if (copy !== undefined) return copy;
    const found = await this.#lookup.read(entryKey, this.#plain);
    this.#count(found.state);
    if (note !== undefined) Object.assign(note, { source: 'redis', outcome: WORDS[found.state] });
    return found.state === 'hit' ? found : undefined;
  }

  findMany<K extends Key>(keys: readonly K[]): Promise<Map<K, unknown>> {
    if (!this.tracer.active) return this.#findMany(keys);
    return this.tracer.getMany('CacheService.getMany', keys, (count) => this.#findMany(keys, count));
  }

  async #findMany<K extends Key>(keys: readonly K[], count?: Count): Promise<Map<K, unknown>> {
    const values = new Map<K, unknown>();
    const missing: [K, string][] = [];
    for (const key of keys) {
      const entryKey = this.keyOf(key);
      const copy = this.#lookup.near(entryKey, this.#plain);
      if (copy === undefined) missing.push([key, entryKey]);
      else {
        count?.('hit');
        values.set(key, copy.value);
      }
    }
    if (missing.length === 0) return values;
    const found = await this.#lookup.readMany(
      missing.map(([, entryKey]) => entryKey),
      this.#plain,
    );
    for (const [index, one] of found.entries()) {
      this.#count(one.state);
      count?.(one.state);
      if (one.state === 'hit') values.set(missing[index]![0], one.value);
    }
    return values;
  }

  getOrLoad(key: Key, factory: CacheFactory<unknown>, policy: CachePolicy): Promise<unknown> {
    if (!this.tracer.active) return this.#lookup.getOrLoad({ entryKey: this.keyOf(key), factory, policy });
    return this.tracer.get(policy.name, key, (note) =>
      this.#lookup.getOrLoad({ entryKey: this.keyOf(key), factory, policy, note }),
    );
  }

  /** The factory alone, as `when` says. */
  bypass(key: Key, factory: CacheFactory<unknown>, policy: CachePolicy): Promise<never> {
    const run = (): Promise<never> => Promise.resolve(factory(contextOf(policy)) as Promise<never>);
    if (!this.tracer.active) return run();
    return this.tracer.get(policy.name, key, (note) => {
      Object.assign(note, { outcome: 'bypass', source: 'load' });
      return run();
    });
  }

  getOrLoadMany<K extends Key>(
    keys: readonly K[],
    load: CacheBulkFactory<K, unknown>,
    policy: CachePolicy,
  ): Promise<Map<K, unknown>> {
    if (!this.tracer.active) return this.#getOrLoadMany(keys, load, policy);
    return this.tracer.getMany(policy.name, keys, (count) => this.#getOrLoadMany(keys, load, policy, count));
  }

  async #getOrLoadMany<K extends Key>(
    keys: readonly K[],
    load: CacheBulkFactory<K, unknown>,
    policy: CachePolicy,
    count?: Count,
  ): Promise<Map<K, unknown>> {
    const entryKeys = keys.map((key) => this.keyOf(key));
    const lookup = this.#lookup;
    const near = new Map<number, unknown>();
    const useCache = policy.useIf?.() !== false;
    for (const [index, entryKey] of useCache ? entryKeys.entries() : []) {
      const copy = lookup.near(entryKey, policy);
      if (copy === undefined) continue;
      near.set(index, copy.value);
      count?.('hit');
    }
    const far = entryKeys.map((_, index) => index).filter((index) => !near.has(index));
    // Keys of the same text are one entry, but each gets a copy of its own.
    const first = new Map<string, number>();
    for (const index of far) if (!first.has(entryKeys[index]!)) first.set(entryKeys[index]!, index);
    const bulk = new Bulk(first.keys(), load, (text) => text.slice(this.#entryPrefix.length), this.#flights.waits);
    const wantedKeys = far.map((index) => entryKeys[index]!);
    const found = useCache ? await lookup.readMany(wantedKeys, policy) : far.map(() => OFFLINE);
    const loaded = await Promise.all(
      far.map((index, position) => {
        const entryKey = entryKeys[index]!;
        const place = first.get(entryKey)!;
        count?.(found[position]!.state);
        const factory: CacheFactory<unknown> = (context) => bulk.ask(keys[place]!, entryKey, context);
        // A repetition waits for the first one, which is what the others wait for as well.
        const onWait = (): void => {
          if (place === index) bulk.settled(entryKey);
        };
        const wanted = { entryKey, factory, policy, onWait };
        // What they wait for at the same time must not add up.
        return lookup.resolve(wanted, found[position]!, lookup.budget());
      }),
    );
    const values = far.map((index, position) => [index, loaded[position]] as const);
    const all = new Map([...near, ...values]);
    return new Map(keys.map((key, index) => [key, all.get(index)]));
  }

  /** Milliseconds; 0 when there is only a stale copy. */
  async freshFor(key: Key): Promise<number | undefined> {
    const entryKey = this.keyOf(key);
    if (this.#recovery.has(entryKey)) return undefined;
    const found = await this.#reader.read(entryKey, { tags: NO_TAGS, pttl: true }, this.#lookup.budget(), (one) => one);
    if (found.state === 'stale') return 0;
    return found.state === 'hit' && found.freshMs! > 0 ? found.freshMs : undefined;
  }

  /** @throws InvalidOptionsError without `tagIndex` */
  async keysOf(tag: string, limit: number): Promise<string[]> {
    const keys = await this.#store.tags.entriesOf(tag, limit, { deadline: this.#operationTimeout });
    if (keys !== undefined) return keys.map((key) => key.slice(this.#entryPrefix.length));
    const message =
      'must be true, so that it is known which entries have a tag; it costs a command for each tag of a value';
    throw new InvalidOptionsError('CacheService.keysOf', [{ path: 'cache.tagIndex', message }]);
  }

  stats(): CacheStats {
    const { size: queuedEvictions } = this.#recovery;
    return { ...this.#counters, running: this.#flights.size, queuedEvictions, l1: this.#l1?.stats };
  }

  async close(): Promise<void> {
    this.#recovery.close();
    this.#index?.close();
    await this.#flights.drain(AbortSignal.timeout(CLOSE_GRACE));
    this.#l1?.close();
  }

  #count(state: 'hit' | 'stale' | 'miss' | 'offline'): void {
    if (state === 'hit') this.#counters.hits++;
    else if (state === 'offline') this.#counters.offline++;
    else this.#counters.misses++;
  }
}
