import type { ExecutionContext } from '@nestjs/common';
import { z } from 'zod';
import type { Duration } from '../../../core/duration.js';
import { durationSchema, parseOptions } from '../../../core/options.js';
import type { CallSite } from '../../../nest/method-decorator/index.js';
import type { CacheValueOptions } from '../../cache.options.js';
import { entrySchema, tagsSchema } from '../../cache.schema.js';
import { whereOf } from '../cache-source.js';

/** Whose response it is. Nothing (`undefined`, `null`, `''`) is not cached; 0 is a value. */
export type ResponseScope = string | number | bigint | null | undefined;

/** Gives the scope of a request, after its guards. May be asynchronous. */
export type ResponseScopeFunction = (context: ExecutionContext) => ResponseScope | Promise<ResponseScope>;

/** Gives the tags of the response to a request. */
export type ResponseTagsFunction = (context: ExecutionContext) => readonly string[];

/** Options of `@CacheResponse`. */
export interface CacheResponseOptions extends Omit<CacheValueOptions, 'tags' | 'cacheErrors'> {
  /** How long a response stays in the cache. There is no default. */
  ttl: Duration;
  /**
   * Who shares a response: `'public'` for everybody, or a function that names the user, tenant or role that it is for. There is
   * no default: a response is never shared by more callers than this says.
   *
   * `'public'` does not use the cache for requests with an `Authorization` header or a `request.user`.
   */
  scope: 'public' | ResponseScopeFunction;
  /** Path parameters that the response depends on. Default: all that the path has. */
  params?: readonly string[];
  /**
   * Query parameters that the response depends on, in any order. Others neither make a difference nor reach the handler. Default:
   * none.
   */
  query?: readonly string[];
  /** Request headers that the response depends on, such as `'Accept-Language'`; all that it names in `Vary`. Default: none. */
  headers?: readonly string[];
  /**
   * Names under which responses can be invalidated, with `CacheService.invalidateTags`: a list, or a function of the execution
   * context.
   */
  tags?: readonly string[] | ResponseTagsFunction;
  /** Whether authenticated requests share a `'public'` response too. Default `false`. */
  shareAuthenticated?: boolean;
}

export interface ResolvedResponseOptions {
  readonly scope: 'public' | ResponseScopeFunction;
  /** Sorted; `undefined` for all of the path. */
  readonly params: readonly string[] | undefined;
  /** Sorted; `undefined` when the decorator says nothing of them. */
  readonly query: readonly string[] | undefined;
  /** Sorted, in lower case. */
  readonly headers: readonly string[];
  readonly shareAuthenticated: boolean;
  /** Tags that differ from request to request. */
  readonly tagsOf: ResponseTagsFunction | undefined;
  /** What remains is about entries, and for `CachePolicy`. */
  readonly entry: CacheValueOptions;
}

const SCOPE_REMEDY =
  "is needed to know who may see a stored response: 'public' for everybody, or a function of the execution context that " +
  'names whose it is, such as (context) => context.switchToHttp().getRequest().user?.id';
const TTL_REMEDY = "is needed to know how long a response may be served; for example '30s'";

const namesSchema = z
  .array(
    z.string('must be a name, in a text').min(1, 'must not be empty'),
    "must be a list of names, for example ['page']",
  )
  .optional();

// No errors: to later requests they would be another one, with another status.
const schema = entrySchema.omit({ cacheErrors: true }).extend({
  ttl: z
    .unknown()
    .refine((ttl) => ttl !== undefined, TTL_REMEDY)
    .pipe(durationSchema({ min: 1 })),
  scope: z.custom<'public' | ResponseScopeFunction>(
    (scope) => scope === 'public' || typeof scope === 'function',
    SCOPE_REMEDY,
  ),
  tags: z
    .union(
      [
        tagsSchema,
        z.custom<ResponseTagsFunction>((tags) => typeof tags === 'function', 'must be a function that gives one'),
      ],
      'must be an array of texts, or a function that gives one',
    )
    .optional(),
  params: namesSchema,
  query: namesSchema,
  headers: namesSchema,
  shareAuthenticated: z.boolean('must be true or false').optional(),
});

/** @throws InvalidOptionsError naming the method and the option */
export function resolveResponseOptions(raw: unknown, site: CallSite): ResolvedResponseOptions {
  const parsed = parseOptions(schema, raw ?? {}, whereOf(site));
  const { scope, params, query, headers, shareAuthenticated, tags, ...entry } = parsed;
  const tagsOf = typeof tags === 'function' ? tags : undefined;
  return {
    scope,
    params: params && distinct(params),
    query: query && distinct(query),
    headers: distinct((headers ?? []).map((name) => name.toLowerCase())),
    shareAuthenticated: shareAuthenticated ?? false,
    tagsOf,
    entry: (tagsOf === undefined && tags !== undefined ? { ...entry, tags } : entry) as CacheValueOptions,
  };
}

function distinct(names: readonly string[]): string[] {
  return [...new Set(names)].toSorted();
}
