import type { Around, MethodPattern } from '../../nest/method-decorator/index.js';
import { decorateMethod } from '../../nest/method-decorator/index.js';
import type { CacheRegion } from '../define-cache.js';
import { cacheMapping, cacheSource } from './cache-source.js';
import type {
  CacheableOptions,
  CacheMethodDecorator,
  CachePutMapping,
  GivenTags,
  KeyFunction,
  MapFn,
  Predicate,
  TagsFunction,
  UnlessMapped,
  VersionFunction,
} from './decorator-types.js';

interface PutRaw {
  readonly source: unknown;
  readonly mapping: unknown;
}

const cachePut: MethodPattern<PutRaw> = {
  decorator: '@CachePut',
  observable: 'value',
  bind(raw, runtime, site): Around {
    const source = cacheSource(raw.source, runtime, site, { defaultKey: 'refused' });
    const { map, version } = cacheMapping(raw.mapping, 'version', site);
    const { cache } = source;
    return async (call) => {
      // Before the work is done, where that is possible: a wrong key is no reason to fail afterwards.
      const early = map === undefined ? cache.checkedKey(source.keyOf(call.args)) : undefined;
      const result = await call.proceed();
      const args = map === undefined ? call.args : map(result, ...call.args);
      if (!source.applies(args)) return result;
      const key = early ?? source.keyOf(args);
      const policy = source
        .policyFor(args)
        .forValue(result)
        .withVersion(version?.(result, ...call.args));
      try {
        if (source.stores(result, args)) await cache.set(key, result, policy);
        else await cache.evict(key);
      } catch (error) {
        cache.invalidationFailed(site.name, result, error);
      }
      return result;
    };
  },
};

/**
 * Runs the method, and then stores what it returns: the database first, the cache after it. A method that fails changes nothing.
 *
 * Without `version` the last one at Redis wins, which need not be the last one at the database; with it, the highest version does.
 * A result that `unless` keeps out of the cache evicts the former value. When Redis fails after the work is done,
 * `cache.onInvalidationError` says what happens.
 *
 * The types of the parameters of these functions must be written out; they are checked against the method's.
 *
 * @throws (calls) what the method throws; CacheInvalidationError
 *
 * @example
 * ```ts
 * @CachePut(productCache, { key: (product: Product) => [product.id], version: (product: Product) => product.revision })
 * save(change: ProductChange): Promise<Product> { … }
 * ```
 */
export function CachePut<
  Args extends readonly unknown[],
  Value,
  MapArgs extends readonly unknown[] = never,
  Version extends VersionFunction = never,
>(
  region: CacheRegion<Args, Value>,
  mapping?: CachePutMapping<Args, MapArgs, Version>,
): CacheMethodDecorator<UnlessMapped<MapArgs, (...args: Args) => unknown>, MapFn<MapArgs> | Version, Value>;
export function CachePut<
  KeyFn extends KeyFunction,
  When extends Predicate = never,
  Unless extends Predicate = never,
  MapArgs extends readonly unknown[] = never,
  Version extends VersionFunction = never,
  Tags extends TagsFunction = never,
  ResultTags extends TagsFunction = never,
>(
  options: CacheableOptions<KeyFn, When, Unless, Tags, ResultTags> & { key: KeyFn },
  mapping?: CachePutMapping<Parameters<KeyFn>, MapArgs, Version>,
): CacheMethodDecorator<
  UnlessMapped<MapArgs, KeyFn | When | GivenTags<Tags>>,
  UnlessMapped<MapArgs, Unless | ResultTags> | MapFn<MapArgs> | Version
>;
export function CachePut(source: unknown, mapping?: unknown): CacheMethodDecorator<never, never> {
  return decorateMethod(cachePut, { source, mapping });
}
