import { formatDuration } from '../core/duration.js';
import { RedisPatternsError } from '../core/errors.js';
import type { CacheLoadFailure } from './load-failure.js';

/**
 * A method with `@CachePut` or `@CacheEvict` has done its work, but the cache could not be told, so that it may answer with
 * the former value until that expires or the eviction that is queued has been made. Only with
 * `cache.onInvalidationError: 'throw'`. Code `ERR_CACHE_INVALIDATION`; `cause` is the error of Redis or of the codec.
 *
 * @example
 * ```ts
 * try {
 *   await products.rename(42, 'Lamp');
 * } catch (error) {
 *   if (!(error instanceof CacheInvalidationError)) throw error;
 *   return error.result; // the rename is done: do not repeat it
 * }
 * ```
 */
export class CacheInvalidationError extends RedisPatternsError {
  /** What the method returned. Not enumerable, so that loggers do not print it. */
  declare readonly result: unknown;

  constructor(method: string, result: unknown, cause: unknown) {
    super(
      'ERR_CACHE_INVALIDATION',
      `${method} has done its work, but its cache entry could not be changed. Do not repeat the call: 'result' holds what ` +
        `it returned, and the entry is evicted as soon as Redis answers. With cache.onInvalidationError: 'defer' such a ` +
        `call does not fail.`,
      { cause },
    );
    Object.defineProperty(this, 'result', { value: result, enumerable: false });
  }
}

/**
 * A factory ran longer than `timeouts.hard`, and there was no stale copy to answer with. Its signal has been aborted. Code
 * `ERR_CACHE_LOAD_TIMEOUT`.
 *
 * @example
 * ```ts
 * await cache.getOrSet(key, ({ signal }) => fetchRate(signal), { timeouts: { hard: '2s' } });
 * ```
 */
export class CacheLoadTimeoutError extends RedisPatternsError {
  constructor(
    name: string,
    /** Milliseconds. */
    readonly timeout: number,
  ) {
    super(
      'ERR_CACHE_LOAD_TIMEOUT',
      `A factory of ${name} took longer than timeouts.hard (${formatDuration(timeout)}). Let it follow its ctx.signal, raise ` +
        `the timeout, or set 'stale', so that a former value can answer.`,
    );
  }
}

/**
 * A factory failed a while ago, here or in another process, and the option `cacheErrors` lets that stand: this call did not
 * run it again. Code `ERR_CACHE_LOAD_FAILED`. It is no copy of the factory's error: `failure` says what is known of that.
 *
 * @example
 * ```ts
 * catch (error) {
 *   const status = error instanceof CachedLoadError ? error.failure.status : error.status;
 *   if (status === 429) return fallback;
 *   throw error;
 * }
 * ```
 */
export class CachedLoadError extends RedisPatternsError {
  constructor(
    name: string,
    /** Name, message, code and status of the factory's error. */
    readonly failure: CacheLoadFailure,
  ) {
    super(
      'ERR_CACHE_LOAD_FAILED',
      `A load of ${name} has failed a while ago, and is not tried again until the time is over that its cacheErrors gave. ` +
        `It failed with ${failure.name}: ${failure.message}`,
    );
  }
}

/**
 * A factory asked the cache for the value that it is to make, directly or by way of other factories of this process: it would
 * have waited for itself. Code `ERR_CACHE_REENTRY`.
 *
 * @example
 * ```ts
 * await cache.getOrSet('settings', () => cache.getOrSet('settings', load)); // the second call rejects, and so the first
 * ```
 */
export class CacheReentryError extends RedisPatternsError {
  constructor(name: string, entryKey: string) {
    super(
      'ERR_CACHE_REENTRY',
      `${name} asks for '${entryKey}' in the course of the load of that very entry, which would wait for itself. Give what the ` +
        `factory needs a key of its own, or call what is behind it without the cache.`,
    );
  }
}

/**
 * An encoded value is larger than `cache.maxBytes`. Only with `cache.onOversize: 'throw'`. Code `ERR_CACHE_VALUE_TOO_LARGE`.
 *
 * @example
 * ```ts
 * await cache.set('report', hugeReport); // the former entry is evicted
 * ```
 */
export class CacheValueTooLargeError extends RedisPatternsError {
  constructor(
    name: string,
    /** Encoded size. */
    readonly bytes: number,
    readonly maxBytes: number,
  ) {
    super(
      'ERR_CACHE_VALUE_TOO_LARGE',
      `A value of ${name} is too large to be cached: ${bytes} bytes, cache.maxBytes is ${maxBytes}. Cache less of it, or parts, ` +
        `or raise cache.maxBytes.`,
    );
  }
}
