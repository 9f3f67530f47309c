import type { Around, AsyncMethodDecorator, MethodPattern } from '../../nest/method-decorator/index.js';
import { decorateMethod } from '../../nest/method-decorator/index.js';
import { isCacheRegion, type CacheRegion } from '../define-cache.js';
import type { CacheFactory } from '../load-context.js';
import { cacheSource } from './cache-source.js';
import type {
  CacheableOptions,
  CacheMethodDecorator,
  GivenTags,
  KeyFunction,
  Predicate,
  TagsFunction,
} from './decorator-types.js';

const cacheable: MethodPattern<unknown> = {
  decorator: '@Cacheable',
  observable: 'value',
  nameIsKey: (raw) => !isCacheRegion(raw) && (raw as CacheableOptions | undefined)?.key === undefined,
  bind(raw, runtime, site): Around {
    const source = cacheSource(raw, runtime, site, { defaultKey: 'method' });
    const { cache } = source;
    return (call) => {
      const { args } = call;
      if (!source.applies(args)) return call.proceed();
      const factory: CacheFactory<unknown> = async ({ skip }) => {
        const result = await call.proceed();
        if (!source.stores(result, args)) skip();
        return result;
      };
      return cache.getOrSet(source.keyOf(args), factory, source.policyFor(args));
    };
  },
};

/**
 * Answers from the cache, and else runs the method and stores what it returns. Calls of one process share a running one.
 *
 * Works on any provider or controller and for calls by `this.method()`. Without `key` the entry is found by `Class.method` and a
 * hash of all arguments, which tells types apart. The method must be asynchronous, and the functions must fit its parameters: else
 * it does not compile. `this` is never part of a key, so the result must depend on the arguments alone.
 *
 * @throws (calls) what the method throws, unchanged and not cached (see `cacheErrors`); InvalidKeyError for arguments without a stable text
 *
 * @example
 * ```ts
 * @Cacheable(productCache)
 * find(id: number): Promise<Product> { return this.repository.find(id); }
 *
 * @Cacheable({ key: (country: string) => ['vat', country], ttl: '1d' })
 * async vat(country: string): Promise<number> { … }
 * ```
 */
export function Cacheable(): AsyncMethodDecorator;
export function Cacheable<Args extends readonly unknown[], Value>(
  region: CacheRegion<Args, Value>,
): AsyncMethodDecorator<(...args: Args) => unknown, Value>;
export function Cacheable<
  KeyFn extends KeyFunction = never,
  When extends Predicate = never,
  Unless extends Predicate = never,
  Tags extends TagsFunction = never,
  ResultTags extends TagsFunction = never,
>(
  options: CacheableOptions<KeyFn, When, Unless, Tags, ResultTags>,
): CacheMethodDecorator<KeyFn | When | GivenTags<Tags>, Unless | ResultTags>;
export function Cacheable(regionOrOptions?: unknown): AsyncMethodDecorator {
  return decorateMethod(cacheable, regionOrOptions);
}
