import { z } from 'zod';
import { parseOptions } from '../core/options.js';
import type { Key, KeyPart } from '../keys/index.js';
import type { CacheLoadOptions, CacheValueOptions } from './cache.options.js';
import { tagsSchema, valueOptionsShape } from './cache.schema.js';

/** What {@link defineCache} takes. */
export interface CacheDefinition<Args extends readonly unknown[], Value> extends Omit<CacheValueOptions, 'tags'> {
  /** First part of every key of the region; each resource is defined once in an application. */
  resource: string;
  /** Part or parts of the key, after the resource. */
  key: (...args: Args) => KeyPart | readonly KeyPart[];
  /** Names under which its entries can be invalidated together: fixed, or from the arguments. */
  tags?: readonly string[] | ((...args: Args) => readonly string[]);
  /** Further tags, from the value; they cost a hit a second round trip. */
  resultTags?: (value: Value, ...args: Args) => readonly string[];
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
  /** The options of its entries, for `CacheService`. With tags from arguments or values take {@link optionsFor}. */
  readonly options: Readonly<CacheValueOptions>;
  /** The options of one entry, its tags included, for `CacheService.getOrSet`. */
  readonly optionsFor: (...args: Args) => CacheLoadOptions<Value>;
  readonly tags?: (...args: Args) => readonly string[];
  readonly resultTags?: (value: Value, ...args: Args) => readonly string[];
  readonly when?: (...args: Args) => boolean;
  readonly unless?: (value: Value, ...args: Args) => boolean;
}

const functionSchema = z.custom<(...args: never[]) => unknown>(
  (value) => typeof value === 'function',
  'must be a function',
);
const definitionSchema = z.strictObject({
  ...valueOptionsShape,
  tags: z.union([tagsSchema, functionSchema], 'must be an array of texts, or a function that gives one').optional(),
  resultTags: functionSchema.optional(),
  resource: z.string("must be a text, for example 'product'").min(1, "must not be empty; for example 'product'"),
  key: functionSchema,
  when: functionSchema.optional(),
  unless: functionSchema.optional(),
});

class Region<Args extends readonly unknown[], Value> implements CacheRegion<Args, Value> {
  readonly resource: string;
  readonly options: Readonly<CacheValueOptions>;
  readonly tags?: (...args: Args) => readonly string[];
  readonly resultTags?: (value: Value, ...args: Args) => readonly string[];
  readonly when?: (...args: Args) => boolean;
  readonly unless?: (value: Value, ...args: Args) => boolean;
  // Properties, so that they may be passed on without their region.
  readonly key: (...args: Args) => Key;
  readonly optionsFor: (...args: Args) => CacheLoadOptions<Value>;

  constructor({ resource, key, when, unless, tags, resultTags, ...options }: CacheDefinition<Args, Value>) {
    this.resource = resource;
    this.key = (...args) => {
      const parts = key(...args);
      return Array.isArray(parts) ? [resource, ...(parts as KeyPart[])] : [resource, parts as KeyPart];
    };
    const fixed = typeof tags === 'function' || tags === undefined ? {} : { tags: Object.freeze([...tags]) };
    this.options = Object.freeze({ ...options, ...fixed });
    this.optionsFor = (...args) => ({
      ...this.options,
      ...(typeof tags === 'function' ? { tags: tags(...args) } : {}),
      ...(resultTags === undefined ? {} : { resultTags: (value: Value) => resultTags(value, ...args) }),
    });
    if (typeof tags === 'function') this.tags = tags;
    if (resultTags !== undefined) this.resultTags = resultTags;
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
