import { RedisPatternsError } from '../core/errors.js';

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
