import type { Key } from '../../keys/index.js';
import type { AsyncMethod, FitsMethod, InstanceTarget, MethodResult } from '../../nest/method-decorator/index.js';
import type { CacheValueOptions } from '../cache.options.js';

export type KeyFunction = (...args: never[]) => Key;
export type Predicate = (...args: never[]) => boolean;
export type TagsFunction = (...args: never[]) => readonly string[];
export type VersionFunction = (...args: never[]) => number | bigint | undefined;

/** Options of a cached method that belongs to no region. */
export interface CacheableOptions<
  KeyFn extends KeyFunction = never,
  When extends Predicate = never,
  Unless extends Predicate = never,
  Tags extends TagsFunction = never,
  ResultTags extends TagsFunction = never,
> extends Omit<CacheValueOptions, 'tags'> {
  /** The key of a value, from the arguments of the method. Default: `Class.method` and a hash of all arguments. */
  key?: KeyFn;
  /** Whether to use the cache for this call, from the arguments. */
  when?: When;
  /** Whether not to store this value: from the result, then the arguments. */
  unless?: Unless;
  /** Names under which the entry can be invalidated together with others: fixed, or from the arguments. */
  tags?: readonly string[] | Tags;
  /** Further tags, from the result, then the arguments; they cost a hit a second round trip. */
  resultTags?: ResultTags;
}

/** How the parameters of a method that changes a value relate to those of the cached one. */
export interface CachePutMapping<
  RegionArgs extends readonly unknown[],
  MapArgs extends readonly unknown[] = never,
  Version extends VersionFunction = never,
> {
  /** The arguments of the region's `key`, as an array: from the result, then the arguments of the method. Default: its arguments. */
  key?: (...args: MapArgs) => readonly [...NoInfer<RegionArgs>];
  /** Version of the value: from the result, then the arguments. A value with a lower one than the stored is not stored. */
  version?: Version;
}

/** How the parameters of a method that invalidates a value relate to those of the cached one. */
export interface CacheEvictMapping<
  RegionArgs extends readonly unknown[],
  MapArgs extends readonly unknown[] = never,
  Tags extends TagsFunction = never,
> {
  /** The arguments of the region's `key`, as an array, from the arguments of the method. Default: its arguments. */
  key?: (...args: MapArgs) => readonly [...NoInfer<RegionArgs>];
  /** Tags to invalidate as well: fixed, or from the arguments of the method. */
  tags?: readonly string[] | Tags;
  /** Evict before the method runs as well, not only after it has succeeded. Default `false`. */
  before?: boolean;
}

/** Tags to invalidate, where no entry of its own is to be evicted. */
export interface CacheTagsEviction<Tags extends TagsFunction = never> {
  /** Tags to invalidate: fixed, or from the arguments of the method. */
  tags: readonly string[] | Tags;
}

/** The function that was given as `tags`; `never` for an array, from which nothing can be inferred. */
export type GivenTags<Tags> = TagsFunction extends Tags ? never : Tags;

/** As `FitsMethod`, for functions that take the result before the arguments. */
type FitsResult<M extends AsyncMethod, Fn> = [Fn] extends [(result: MethodResult<M>, ...args: Parameters<M>) => unknown]
  ? unknown
  : { readonly 'a function in the options does not fit the result and the parameters of this method': Fn };

type Gives<M extends AsyncMethod, Value> = [MethodResult<M>] extends [Value]
  ? unknown
  : { readonly 'the result of this method must be': Value };

/** Decorator of methods that `ArgsFn` can be called with the arguments, and `ResultFn` with the result and the arguments of. */
export type CacheMethodDecorator<ArgsFn, ResultFn, Value = unknown> = <M extends AsyncMethod>(
  target: InstanceTarget,
  propertyKey: string | symbol,
  descriptor: TypedPropertyDescriptor<M> & FitsMethod<M, ArgsFn> & FitsResult<M, ResultFn> & Gives<M, Value>,
) => void;

/** The function of a mapping, `never` without one. */
export type MapFn<MapArgs extends readonly unknown[]> = [MapArgs] extends [never]
  ? never
  : (...args: MapArgs) => unknown;

/** What must fit the arguments of the method when no mapping says otherwise: the region's own function. */
export type UnlessMapped<MapArgs extends readonly unknown[], Fn> = [MapArgs] extends [never] ? Fn : never;
