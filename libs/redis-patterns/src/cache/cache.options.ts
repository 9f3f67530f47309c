import type { ByteSize, Class, Codec, CompressionSettings, CompressOptions, ValueCodec } from '../codec/index.js';
import type { Duration } from '../core/duration.js';

/** How entries are stored and loaded. In `CacheOptions` the defaults of the application, elsewhere for one region or call. */
export interface CacheEntryOptions {
  /** How long a value stays fresh. Default `'5m'`. */
  ttl?: Duration;
  /**
   * How long a copy is kept after that. `getOrSet` answers with it at once and refreshes it in the background, and also
   * when the factory fails. `null` and `undefined` have none. Default `0`; `ttl` and `stale` together are at most `maxTtl`.
   */
  stale?: Duration;
  /** How long `null` and `undefined` stay; `0` does not store them. Default: `ttl`, at most `'30s'`. */
  negativeTtl?: Duration;
  /**
   * Part of the ttl, 0 to 0.9, by which each entry's own is shortened at random, so that entries written together do not
   * expire together. Default 0.1.
   */
  jitter?: number;
  /**
   * Refreshes in the background before a value expires, the more likely the nearer the end is and the longer its load took
   * (XFetch: Vattani et al., "Optimal Probabilistic Cache Stampede Prevention", VLDB 2015). A larger `beta` (default 1) is
   * earlier. Default `false`.
   */
  earlyRefresh?: { beta?: number } | false;
  /**
   * `'distributed'`, the default: over all processes one caller at a time loads a value, the others wait for it. `'local'`: only
   * the callers of one process share a load. `'none'`: every caller loads. Whatever it is, only the owner of the lease stores.
   */
  stampede?: 'distributed' | 'local' | 'none';
  /**
   * `soft`: how long a call that has a stale copy waits for the new value; default 0, not at all. `hard`: how long a factory may
   * run; then its signal aborts, and the callers get the stale copy or a `CacheLoadTimeoutError`. Default: as long as it takes.
   */
  timeouts?: { soft?: Duration; hard?: Duration };
  /** How long no refresh is tried after one has failed, over all processes. Default `'5s'`. */
  failBackoff?: Duration;
  /**
   * For how long a caller has the sole right to load and store a missing value; renewed while its factory runs. When its
   * process dies, others wait for so long at most. Default `'4s'`, at least `'100ms'`.
   */
  lease?: Duration;
  /** How long a call waits for another process that loads the value, before it loads by itself, without storing. Default `'5s'`. */
  wait?: Duration;
  /** How long a factory may run and still have its value stored. Default `'60s'`. */
  maxHold?: Duration;
}

/** The copies that a process keeps in its own memory. */
export interface CacheL1Options {
  /** Most entries. Default 10 000. */
  max?: number;
  /** Most memory of encoded values, about: bytes, or a text such as `'16MB'`. Default `'64MB'`. */
  maxBytes?: ByteSize;
  /** How long a copy is used before Redis is asked again. Default `'15s'`. */
  ttl?: Duration;
  /**
   * `'tracking'`, the default: Redis tells of every change, one message later the copy is gone, and without the messages none is
   * used. `'ttl'`: no messages; a copy may be out of date for up to `ttl`.
   */
  coherence?: 'tracking' | 'ttl';
  /**
   * `'clone'`, the default: each caller gets a copy of its own. `'freeze'`: all get the same deeply frozen object (a copy each
   * where the value holds a Date, Map, Set, Buffer or the like). `'none'`: all get the same object, and must not change it.
   */
  isolation?: 'clone' | 'freeze' | 'none';
}

/** Options of `cache` in {@link RedisPatternsOptions}. */
export interface CacheOptions extends CacheEntryOptions {
  /** Name of the connection. Default `'default'`. */
  connection?: string;
  /** Upper bound of `ttl` and `stale` together. Default `'7d'`. */
  maxTtl?: Duration;
  /** How long a tag is remembered after its last use; at least `maxTtl`. Default: twice `maxTtl`. */
  tagTtl?: Duration;
  /**
   * Form of the application's values: raise it when their shape changes. An entry of another version is a miss, and a process
   * with a lower one never overwrites an entry with a higher one. An integer from 0, the default.
   */
  schemaVersion?: number;
  /** How long a call waits for Redis; a read then goes on without it. Default `'150ms'`. */
  operationTimeout?: Duration;
  /**
   * What `@CachePut` and `@CacheEvict` do when Redis fails after the method has done its work. `'defer'`, the default: the call
   * succeeds, the failure is reported, and the entry is evicted when Redis answers again. `'throw'`: the call fails with a
   * `CacheInvalidationError`, which holds the result.
   */
  onInvalidationError?: 'defer' | 'throw';
  /**
   * Classes whose instances may be stored and come back as such: their own enumerable properties are kept, and the constructor
   * is not run. The name of the class is stored, so that instances written under another name are misses. Default: none.
   */
  types?: readonly Class[];
  /**
   * Compresses encoded values from a size on: `{ over: '2kb', algorithm: 'gzip' }`. Above 64 KiB on another thread. Default
   * `false`.
   */
  compress?: CompressOptions | false;
  /** Encodes values in place of JSON with types. Entries that this one or the built-in ones wrote are read either way. */
  codec?: Codec;
  /** Copies in the memory of this process. Default `false`. */
  l1?: CacheL1Options | boolean;
  /**
   * Encoded size, bytes or a text with its unit, from which a value is reported, once for each region or method. Default
   * `'100kb'` (of 1024 bytes).
   */
  warnBytes?: ByteSize;
  /** Encoded size, bytes or a text with its unit, above which `onOversize` decides. Default `'1MB'`. */
  maxBytes?: ByteSize;
  /** Values above `maxBytes`: `'skip'`, the default, does not store them, `'store'` does, `'throw'` fails the call. */
  onOversize?: 'skip' | 'store' | 'throw';
  /**
   * Notes in Redis which entries have which tag, so that `keysOf` can list them, and so that what `invalidateTags` made invalid is
   * deleted in the background rather than when its time is over. Validity never depends on it. Costs a command, not
   * waited for, for each tag of a value that is stored, and about 100 bytes and the key for each of its tags. Default `false`.
   */
  tagIndex?: boolean;
  /** Most evictions that are kept for later while Redis does not answer; beyond that everything is cleared later. Default 10 000. */
  recovery?: { max?: number };
}

/** Options that concern one kind of value. */
export interface CacheValueOptions extends CacheEntryOptions {
  /**
   * Names under which the entry can be invalidated together with others. They depend on the arguments alone: an entry that
   * lacks one of them is a miss.
   */
  tags?: readonly string[];
  /** Further classes whose instances may be stored, from then on in the whole cache. See `cache.types`. */
  types?: readonly Class[];
  /** Whether this process may keep a copy in its memory, if the application has configured `cache.l1`. Default `true`. */
  l1?: boolean;
  /**
   * For how long an error of the factory is remembered; `undefined` or 0: not at all, as without this option. Meant for
   * answers such as 429 and 503, which the next caller would get too. The caller whose factory failed gets the error itself. Until the
   * time is over, later calls with this option, in every process, get a `CachedLoadError` and the factory is not run; to all
   * others (`get`, `has`, `ttl`, calls without the option) there is no entry. `evict`, `set` and the tags from the arguments
   * end it like a value.
   *
   * Name, message, `code` and `status` of the error are stored in Redis. An error never replaces a value, a stale copy
   * included, and is not remembered when the load was aborted or timed out. At most `maxTtl`.
   *
   * @example
   * ```ts
   * cacheErrors: (error) => (error instanceof UpstreamError && error.status === 429 ? error.retryAfterMs : undefined),
   * ```
   */
  cacheErrors?: (error: unknown) => Duration | undefined;
}

/** Options of `set` and `setMany`. */
export interface CacheSetOptions extends Pick<CacheEntryOptions, 'ttl' | 'stale' | 'negativeTtl' | 'jitter'> {
  /** Names under which the entry can be invalidated together with others. */
  tags?: readonly string[];
  /** Further classes whose instances may be stored, from then on in the whole cache. See `cache.types`. */
  types?: readonly Class[];
  /**
   * Version of the value, for example of its row in the database: a lower one than the stored entry has is not stored. An
   * integer from 0. A value without version is always stored.
   */
  version?: number | bigint;
}

/** Options of `getOrSet` and `getOrSetMany`. */
export interface CacheLoadOptions<T = unknown> extends CacheValueOptions {
  /**
   * Further tags, which depend on the value; or `true`, when the factory sets them by `ctx.setTags()`. A load then costs two
   * round trips more, and a hit one more.
   */
  resultTags?: true | ((value: T) => readonly string[]);
  /** Whether to use the cache for this call; else the factory is run, and nothing is read or stored. */
  when?: () => boolean;
  /** Whether not to store this value. */
  unless?: (value: T) => boolean;
  /** Ends the wait of this caller; the factory's `ctx.signal` aborts when no caller is left. */
  signal?: AbortSignal;
}

/** Options of `deletePattern`. */
export interface CacheDeletePatternOptions {
  /** Count the entries, and delete nothing. Default `false`. */
  dryRun?: boolean;
  /** Stop after so many entries. Default: all. */
  limit?: number;
}

/** What a region or a call may override, parsed; times in milliseconds. */
export interface ResolvedEntryOptions {
  readonly ttl: number;
  readonly stale: number;
  readonly negativeTtl: number | undefined;
  readonly jitter: number;
  /** 0: no early refresh. */
  readonly beta: number;
  readonly stampede: 'distributed' | 'local' | 'none';
  readonly softTimeout: number;
  /** `Infinity` for none. */
  readonly hardTimeout: number;
  readonly failBackoff: number;
  readonly lease: number;
  readonly wait: number;
  readonly maxHold: number;
  /** Whether the call may use the copies of this process. */
  readonly useL1: boolean;
}

/** Parsed; times in milliseconds. */
export interface ResolvedL1Options {
  readonly max: number;
  readonly maxBytes: number;
  readonly ttl: number;
  readonly coherence: 'tracking' | 'ttl';
  readonly isolation: 'clone' | 'freeze' | 'none';
}

/** Options of the engine, parsed; times in milliseconds. */
export interface ResolvedCacheOptions extends ResolvedEntryOptions {
  readonly connection?: string | undefined;
  readonly maxTtl: number;
  readonly tagTtl: number;
  readonly schemaVersion: number;
  readonly operationTimeout: number;
  readonly onInvalidationError: 'defer' | 'throw';
  /** How values become text; its classes grow by those of regions and calls. */
  readonly values: ValueCodec;
  readonly compression: CompressionSettings | undefined;
  readonly l1: ResolvedL1Options | undefined;
  readonly warnBytes: number;
  readonly maxBytes: number;
  readonly onOversize: 'skip' | 'store' | 'throw';
  readonly tagIndex: boolean;
  readonly maxRecovery: number;
}

export { entryOptionsShape, resolveCacheOptions } from './cache.schema.js';
