import type { Around, MethodPattern } from '../../nest/method-decorator/index.js';
import { decorateMethod } from '../../nest/method-decorator/index.js';
import type { CacheRegion } from '../define-cache.js';
import { cacheMapping, cacheSource } from './cache-source.js';
import type {
  CacheableOptions,
  CacheEvictMapping,
  CacheMethodDecorator,
  KeyFunction,
  MapFn,
  Predicate,
  UnlessMapped,
} from './decorator-types.js';

interface EvictRaw {
  readonly source: unknown;
  readonly mapping: unknown;
}

const cacheEvict: MethodPattern<EvictRaw> = {
  decorator: '@CacheEvict',
  observable: 'value',
  bind(raw, runtime, site): Around {
    const source = cacheSource(raw.source, runtime, site, { defaultKey: false });
    const { map, before } = cacheMapping(raw.mapping, 'before', site);
    const { cache } = source;
    return async (call) => {
      const key = source.keyOf(map === undefined ? call.args : map(...call.args));
      if (before) {
        await cache.evict(key).catch((error: unknown) => {
          // Nothing has been done yet, so that the call can simply fail.
          if (cache.options.onInvalidationError === 'throw') throw error;
          cache.invalidationFailed(site.name, undefined, error);
        });
      }
      const result = await call.proceed();
      try {
        await cache.evict(key);
      } catch (error) {
        cache.invalidationFailed(site.name, result, error);
      }
      return result;
    };
  },
};

/**
 * Runs the method, and then deletes the entry. A method that fails deletes nothing (unless `before`). Several on one method delete
 * several entries. When Redis fails after the work is done, `cache.onInvalidationError` says what happens.
 *
 * @throws (calls) what the method throws; InvalidKeyError before it is run; CacheInvalidationError
 *
 * @example
 * ```ts
 * @CacheEvict(productCache, { key: (change: ProductChange) => [change.id] })
 * async remove(change: ProductChange): Promise<void> { … }
 * ```
 */
export function CacheEvict<Args extends readonly unknown[], Value, MapArgs extends readonly unknown[] = never>(
  region: CacheRegion<Args, Value>,
  mapping?: CacheEvictMapping<Args, MapArgs>,
): CacheMethodDecorator<MapFn<MapArgs> | UnlessMapped<MapArgs, (...args: Args) => unknown>, never>;
export function CacheEvict<
  KeyFn extends KeyFunction,
  When extends Predicate = never,
  Unless extends Predicate = never,
  MapArgs extends readonly unknown[] = never,
>(
  options: CacheableOptions<KeyFn, When, Unless> & { key: KeyFn },
  mapping?: CacheEvictMapping<Parameters<KeyFn>, MapArgs>,
): CacheMethodDecorator<MapFn<MapArgs> | UnlessMapped<MapArgs, KeyFn>, never>;
export function CacheEvict(source: unknown, mapping?: unknown): CacheMethodDecorator<never, never> {
  return decorateMethod(cacheEvict, { source, mapping });
}
