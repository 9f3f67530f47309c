import { z } from 'zod';
import { formatDuration, type Duration } from '../core/duration.js';
import { InvalidOptionsError } from '../core/errors.js';
import { durationSchema, parseOptions } from '../core/options.js';

/** How entries are stored and loaded. In `CacheOptions` the defaults of the application, elsewhere for one region or call. */
export interface CacheEntryOptions {
  /** How long a value stays in the cache. Default `'5m'`, at most `maxTtl`. */
  ttl?: Duration;
  /** How long `null` and `undefined` stay; `0` does not store them. Default: `ttl`, at most `'30s'`. */
  negativeTtl?: Duration;
  /**
   * Part of the ttl, 0 to 0.9, by which each entry's own is shortened at random, so that entries written together do not
   * expire together. Default 0.1.
   */
  jitter?: number;
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

/** Options of `cache` in {@link RedisPatternsOptions}. */
export interface CacheOptions extends CacheEntryOptions {
  /** Name of the connection. Default `'default'`. */
  connection?: string;
  /** Upper bound of every ttl. Default `'7d'`. */
  maxTtl?: Duration;
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
}

/** Options of `set`. */
export interface CacheSetOptions extends Pick<CacheEntryOptions, 'ttl' | 'negativeTtl' | 'jitter'> {
  /**
   * Version of the value, for example of its row in the database: a lower one than the stored entry has is not stored. An
   * integer from 0. A value without version is always stored.
   */
  version?: number | bigint;
}

/** Options of `getOrSet`. */
export interface CacheLoadOptions<T = unknown> extends CacheEntryOptions {
  /** Whether to use the cache for this call; else the factory is run, and nothing is read or stored. */
  when?: () => boolean;
  /** Whether not to store this value. */
  unless?: (value: T) => boolean;
  /** Ends the wait of this caller; the factory's `ctx.signal` aborts when no caller is left. */
  signal?: AbortSignal;
}

/** What a region or a call may override, parsed; times in milliseconds. */
export interface ResolvedEntryOptions {
  readonly ttl: number;
  readonly negativeTtl: number | undefined;
  readonly jitter: number;
  readonly lease: number;
  readonly wait: number;
  readonly maxHold: number;
}

/** Options of the engine, parsed; times in milliseconds. */
export interface ResolvedCacheOptions extends ResolvedEntryOptions {
  readonly connection?: string | undefined;
  readonly maxTtl: number;
  readonly schemaVersion: number;
  readonly operationTimeout: number;
  readonly onInvalidationError: 'defer' | 'throw';
}

const jitterSchema = z
  .number('must be a number between 0 and 0.9')
  .min(0, 'must be between 0 and 0.9')
  .max(0.9, 'must be between 0 and 0.9');
const versionRule = 'must be an integer >= 0';

/** The entry options as they may be given to a region or a call. */
export const entryOptionsShape = {
  ttl: durationSchema({ min: 1 }).optional(),
  negativeTtl: durationSchema().optional(),
  jitter: jitterSchema.optional(),
  lease: durationSchema({ min: 100 }).optional(),
  wait: durationSchema().optional(),
  maxHold: durationSchema({ min: 1 }).optional(),
};

const cacheSchema = z.strictObject({
  connection: z.string('must be the name of a connection').min(1, 'must be the name of a connection').optional(),
  ttl: durationSchema({ min: 1 }).prefault('5m'),
  maxTtl: durationSchema({ min: 1 }).prefault('7d'),
  negativeTtl: durationSchema().optional(),
  jitter: jitterSchema.prefault(0.1),
  lease: durationSchema({ min: 100 }).prefault('4s'),
  wait: durationSchema().prefault('5s'),
  maxHold: durationSchema({ min: 1 }).prefault('60s'),
  schemaVersion: z.int(versionRule).min(0, versionRule).prefault(0),
  operationTimeout: durationSchema({ min: 1 }).prefault('150ms'),
  onInvalidationError: z.enum(['defer', 'throw'], "must be 'defer' or 'throw'").prefault('defer'),
});

/**
 * Parses the options of the cache and fills in the defaults.
 *
 * @throws InvalidOptionsError naming each option, for example `cache.ttl`
 */
export function resolveCacheOptions(raw: unknown, where: string): ResolvedCacheOptions {
  const options = parseOptions(cacheSchema, raw ?? {}, where, 'cache');
  checkTtl(options.ttl, options.maxTtl, where, 'cache.ttl');
  checkTtl(options.negativeTtl ?? 0, options.maxTtl, where, 'cache.negativeTtl');
  return options as ResolvedCacheOptions;
}

/** @throws InvalidOptionsError when a ttl is longer than `cache.maxTtl` */
export function checkTtl(ttl: number, maxTtl: number, where: string, option: string): void {
  if (ttl <= maxTtl) return;
  const message = `${formatDuration(ttl)} is longer than cache.maxTtl (${formatDuration(maxTtl)}); shorten it, or raise that`;
  throw new InvalidOptionsError(where, [{ path: option, message }]);
}
