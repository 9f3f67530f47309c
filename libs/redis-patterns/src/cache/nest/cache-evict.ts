import type { Around, MethodPattern } from '../../nest/method-decorator/index.js';
import { decorateMethod } from '../../nest/method-decorator/index.js';
import { isCacheRegion, type CacheRegion } from '../define-cache.js';
import { cacheMapping, cacheSource } from './cache-source.js';
import type {
  CacheableOptions,
  CacheEvictMapping,
  CacheMethodDecorator,
  CacheTagsEviction,
  GivenTags,
  KeyFunction,
  MapFn,
  Predicate,
  TagsFunction,
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
    const source = cacheSource(raw.source, runtime, site, { defaultKey: hasTags(raw.source) ? 'none' : 'refused' });
    const { map, before, tagsOf } = cacheMapping(raw.mapping, 'before', site);
    const { cache } = source;
    return async (call) => {
      const args = map === undefined ? call.args : map(...call.args);
      // Before the work is done: a wrong key is no reason to fail afterwards.
      const key = source.hasKey ? cache.checkedKey(source.keyOf(args)) : undefined;
      const tags = tagsOf?.(...call.args) ?? (source.hasKey ? [] : source.tagsFor(call.args));
      const invalidate = async (): Promise<void> => {
        // Both are tried: what fails is made up for later, each for itself.
        const results = await Promise.allSettled([
          key !== undefined && cache.evict(key),
          tags.length > 0 && cache.invalidateTags(tags),
        ]);
        const failed = results.find((result) => result.status === 'rejected');
        if (failed !== undefined) throw failed.reason;
      };
      if (before) {
        await invalidate().catch((error: unknown) => {
          // Nothing has been done yet, so that the call can simply fail.
          if (cache.options.onInvalidationError === 'throw') throw error;
          cache.invalidationFailed(site.name, undefined, error);
        });
      }
      const result = await call.proceed();
      try {
        await invalidate();
      } catch (error) {
        cache.invalidationFailed(site.name, result, error);
      }
      return result;
    };
  },
};

function hasTags(source: unknown): boolean {
  return !isCacheRegion(source) && (source as { tags?: unknown } | undefined)?.tags !== undefined;
}

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
 *
 * @CacheEvict({ tags: (id: number) => [`category:${id}`] })
 * async moveCategory(id: number): Promise<void> { … }
 * ```
 */
export function CacheEvict<
  Args extends readonly unknown[],
  Value,
  MapArgs extends readonly unknown[] = never,
  Tags extends TagsFunction = never,
>(
  region: CacheRegion<Args, Value>,
  mapping?: CacheEvictMapping<Args, MapArgs, Tags>,
): CacheMethodDecorator<MapFn<MapArgs> | UnlessMapped<MapArgs, (...args: Args) => unknown> | GivenTags<Tags>, never>;
export function CacheEvict<
  KeyFn extends KeyFunction,
  When extends Predicate = never,
  Unless extends Predicate = never,
  MapArgs extends readonly unknown[] = never,
  Tags extends TagsFunction = never,
>(
  options: CacheableOptions<KeyFn, When, Unless> & { key: KeyFn },
  mapping?: CacheEvictMapping<Parameters<KeyFn>, MapArgs, Tags>,
): CacheMethodDecorator<MapFn<MapArgs> | UnlessMapped<MapArgs, KeyFn> | GivenTags<Tags>, never>;
export function CacheEvict<Tags extends TagsFunction = never>(
  options: CacheTagsEviction<Tags>,
  mapping?: { before?: boolean },
): CacheMethodDecorator<GivenTags<Tags>, never>;
export function CacheEvict(source: unknown, mapping?: unknown): CacheMethodDecorator<never, never> {
  return decorateMethod(cacheEvict, { source, mapping });
}
