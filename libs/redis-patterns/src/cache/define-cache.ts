import { z } from 'zod';
import { parseOptions } from '../core/options.js';
import type { Key, KeyPart } from '../keys/index.js';
import { entryOptionsShape, type CacheEntryOptions } from './cache.options.js';

/** What {@link defineCache} takes. */
export interface CacheDefinition<Args extends readonly unknown[], Value> extends CacheEntryOptions {
  /** First part of every key of the region; each resource is defined once in an application. */
  resource: string;
  /** Part or parts of the key, after the resource. */
  key: (...args: Args) => KeyPart | readonly KeyPart[];
  /** Whether decorated methods use the cache for this call. */
  when?: (...args: Args) => boolean;
  /** Whether decorated methods do not store this value. */
  unless?: (value: Value, ...args: Args) => boolean;
}

/** A kind of cached value: one place for its key and its options. */
export interface CacheRegion<Args extends readonly unknown[] = readonly unknown[], Value = unknown> {
  readonly resource: string;
  /** The key of a value, for `CacheService`. */
  readonly key: (...args: Args) => Key;
  /** The options of its entries, for `CacheService`. */
  readonly options: Readonly<CacheEntryOptions>;
  readonly when?: (...args: Args) => boolean;
  readonly unless?: (value: Value, ...args: Args) => boolean;
}

const functionSchema = z.custom<unknown>((value) => typeof value === 'function', 'must be a function');
const definitionSchema = z.strictObject({
  ...entryOptionsShape,
  resource: z.string("must be a text, for example 'product'").min(1, "must not be empty; for example 'product'"),
  key: functionSchema,
  when: functionSchema.optional(),
  unless: functionSchema.optional(),
});

class Region<Args extends readonly unknown[], Value> implements CacheRegion<Args, Value> {
  readonly resource: string;
  readonly options: Readonly<CacheEntryOptions>;
  readonly when?: (...args: Args) => boolean;
  readonly unless?: (value: Value, ...args: Args) => boolean;
  // A property, so that it may be passed on without its region.
  readonly key: (...args: Args) => Key;

  constructor({ resource, key, when, unless, ...options }: CacheDefinition<Args, Value>) {
    this.resource = resource;
    this.key = (...args) => {
      const parts = key(...args);
      return Array.isArray(parts) ? [resource, ...(parts as KeyPart[])] : [resource, parts as KeyPart];
    };
    this.options = Object.freeze(options);
    if (when !== undefined) this.when = when;
    if (unless !== undefined) this.unless = unless;
    Object.freeze(this);
  }
}

/**
 * Defines a kind of cached value, for the decorators and for `CacheService`: a plain value that any file can export.
 *
 * @throws InvalidOptionsError naming the option
 *
 * @example
 * ```ts
 * export const productCache = defineCache<[id: number], Product>({ resource: 'product', key: (id) => id, ttl: '10m' });
 *
 * class ProductService {
 *   @Cacheable(productCache) find(id: number): Promise<Product> { … }
 *   @CachePut(productCache) update(id: number, change: Change): Promise<Product> { … }
 * }
 * await cache.getOrSet(productCache.key(42), load, productCache.options); // shop:cache:product:42
 * ```
 */
export function defineCache<Args extends readonly unknown[], Value = unknown>(
  definition: CacheDefinition<Args, Value>,
): CacheRegion<Args, Value> {
  const resource: unknown = (definition as { resource?: unknown } | undefined)?.resource;
  parseOptions(definitionSchema, definition, `defineCache(${typeof resource === 'string' ? `'${resource}'` : ''})`);
  return new Region(definition);
}

/** Whether it was made by {@link defineCache}. */
export function isCacheRegion(value: unknown): value is CacheRegion<never, never> {
  return value instanceof Region;
}
