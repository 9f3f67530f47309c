import { z } from 'zod';
import { InvalidOptionsError } from '../../core/errors.js';
import { parseOptions } from '../../core/options.js';
import { hashArguments, InvalidKeyError, missingInKey, type Key } from '../../keys/index.js';
import type { CallSite, PatternsRuntime } from '../../nest/method-decorator/index.js';
import { CachePolicy } from '../cache-policy.js';
import type { CacheValueOptions } from '../cache.options.js';
import { tagsSchema, valueOptionsShape } from '../cache.schema.js';
import { CacheService } from '../cache.service.js';
import { isCacheRegion, type CacheRegion } from '../define-cache.js';

type Fn<Result> = (...args: unknown[]) => Result;

/** Functions have the parameters that the types of the decorator have checked; here they are not known. */
interface SourceOptions extends Omit<CacheValueOptions, 'tags'> {
  tags?: unknown;
  resultTags?: unknown;
  key?: unknown;
  when?: unknown;
  unless?: unknown;
}

/** What a decorator was given first, a region or options, made ready for calls. */
export interface CacheSource {
  readonly cache: CacheService;
  /** For a call with these arguments: the tags may depend on them. */
  policyFor(args: readonly unknown[]): CachePolicy;
  /** The tags that a call with these arguments names. */
  tagsFor(args: readonly unknown[]): readonly string[];
  /** Whether there is a key; without one only tags are meant. */
  readonly hasKey: boolean;
  /** @throws InvalidKeyError */
  keyOf(args: readonly unknown[]): Key;
  /** Whether the cache is used for these arguments. */
  applies(args: readonly unknown[]): boolean;
  /** Whether the result may be stored. */
  stores(result: unknown, args: readonly unknown[]): boolean;
}

const functionSchema = z.custom<Fn<never>>((value) => typeof value === 'function', 'must be a function').optional();
const tagsOrFunction = z
  .union(
    [tagsSchema, z.custom<Fn<never>>((value) => typeof value === 'function')],
    'must be an array of texts, or a function that gives one',
  )
  .optional();
const optionsSchema = z.strictObject({
  ...valueOptionsShape,
  tags: tagsOrFunction,
  resultTags: functionSchema,
  key: functionSchema,
  when: functionSchema,
  unless: functionSchema,
});
const mappingSchema = z.strictObject({
  key: functionSchema,
  version: functionSchema,
  tags: tagsOrFunction,
  before: z.boolean('must be true or false').optional(),
});

export function whereOf(site: CallSite): string {
  return `${site.decorator} on ${site.name}`;
}

/**
 * Parses a region or options for one method.
 *
 * @param defaultKey what a source without key has: one of the method's name and arguments, none, or an error
 * @throws InvalidOptionsError
 */
export function cacheSource(
  raw: unknown,
  runtime: PatternsRuntime,
  site: CallSite,
  { defaultKey }: { defaultKey: 'method' | 'none' | 'refused' },
): CacheSource {
  const cache = runtime.engine(CacheService);
  const { key, when, unless, tags, resultTags, ...entry }: SourceOptions = isCacheRegion(raw)
    ? ownRegion(raw, runtime, site)
    : parseOptions(optionsSchema, raw ?? {}, whereOf(site));
  if (key === undefined && defaultKey === 'refused') {
    const message =
      'is needed to know which entry is meant; give a region of defineCache(), or the key of the @Cacheable method';
    throw new InvalidOptionsError(whereOf(site), [{ path: 'key', message }]);
  }
  const keyFn = key as Fn<Key> | undefined;
  const tagsOf = typeof tags === 'function' ? (tags as Fn<readonly string[]>) : undefined;
  const fixedTags = (tagsOf === undefined ? tags : undefined) as readonly string[] | undefined;
  const resultTagsOf = resultTags as Fn<readonly string[]> | undefined;
  const policy = CachePolicy.forEntries({ ...entry, tags: fixedTags }, cache.options, whereOf(site));
  const tagsFor = (args: readonly unknown[]) => tagsOf?.(...args) ?? fixedTags ?? [];
  const policyFor = (args: readonly unknown[]): CachePolicy => {
    const ofValue = resultTagsOf && ((value: never) => resultTagsOf(value, ...args));
    return policy.withTags(tagsFor(args), ofValue);
  };
  return {
    cache,
    policyFor: tagsOf === undefined && resultTagsOf === undefined ? () => policy : policyFor,
    tagsFor,
    hasKey: keyFn !== undefined || defaultKey === 'method',
    keyOf: keyFn === undefined ? (args) => [site.name, hashArguments(args)] : (args) => givenKey(keyFn(...args), site),
    applies: (args) => (when as Fn<boolean> | undefined)?.(...args) ?? true,
    stores: (result, args) => !((unless as Fn<boolean> | undefined)?.(result, ...args) ?? false),
  };
}

/** What a decorator was given second. The functions are what the types of the decorator say. */
export interface CacheMapping {
  /** From the arguments of the mapping's functions to those of the region's key. */
  readonly map: ((...args: unknown[]) => readonly unknown[]) | undefined;
  readonly version: ((...args: unknown[]) => number | bigint | undefined) | undefined;
  /** To be invalidated. */
  readonly tagsOf: ((...args: unknown[]) => readonly string[]) | undefined;
  readonly before: boolean;
}

/** @throws InvalidOptionsError */
export function cacheMapping(raw: unknown, allowed: 'version' | 'before', site: CallSite): CacheMapping {
  const schema = mappingSchema.omit(allowed === 'version' ? { before: true, tags: true } : { version: true });
  const mapping: Partial<z.output<typeof mappingSchema>> = parseOptions(schema, raw ?? {}, whereOf(site));
  const map = mapping.key as Fn<unknown> | undefined;
  const { tags } = mapping;
  return {
    tagsOf: typeof tags === 'function' ? (tags as Fn<readonly string[]>) : tags && (() => tags),
    map: map === undefined ? undefined : (...args) => asArguments(map(...args), site),
    version: mapping.version as CacheMapping['version'],
    before: mapping.before ?? false,
  };
}

function asArguments(mapped: unknown, site: CallSite): readonly unknown[] {
  if (Array.isArray(mapped)) return mapped as unknown[];
  throw new InvalidKeyError(
    `the 'key' of ${whereOf(site)} must return the arguments of the region's key as an array: [id] rather than id`,
  );
}

/** What is wrong with its parts is said by whoever joins them. */
function givenKey(key: unknown, site: CallSite): Key {
  const lack = Array.isArray(key) ? undefined : missingInKey(key);
  if (lack === undefined) return key as Key;
  throw new InvalidKeyError(
    `the 'key' of ${whereOf(site)} ${lack} for this call; it must give a non-empty text such as 'product:42', or an array such as ['product', id]`,
  );
}

/** The region, if it is the only one of its resource in this application. */
function ownRegion(region: CacheRegion<never, never>, runtime: PatternsRuntime, site: CallSite): SourceOptions {
  if (!runtime.claimName(`cache resource ${region.resource}`, [region])) {
    const message =
      `'${region.resource}' is defined by two defineCache() calls in this application, so that values of different forms ` +
      `could meet under one key; define it once and export it, or rename one`;
    throw new InvalidOptionsError(whereOf(site), [{ path: 'resource', message }]);
  }
  const { key, when, unless, tags, resultTags, options } = region;
  return { ...options, key, when, unless, tags: tags ?? options.tags, resultTags };
}
