import { parseOptions } from '../core/options.js';
import type { CacheLoadOptions, ResolvedCacheOptions, ResolvedEntryOptions } from './cache.options.js';
import { loadSchema, MAX_TAGS, mergeEntryOptions } from './cache.schema.js';

/** Different options that calls may be given before their parsed forms are forgotten. */
const MAX_PARSED = 500;

/** Around the options of an object. */
const START = Symbol('start');
const END = Symbol('end');

/** Options that differ from call to call, and are checked by hand. */
const PER_CALL: ReadonlySet<string> = new Set([
  'tags',
  'types',
  'resultTags',
  'when',
  'unless',
  'cacheErrors',
  'signal',
]);

/**
 * Options that begin alike share the way: from name to value to name. Calls bring the same few options again and again; parsing
 * them costs more than a hit, and so would a text made of them.
 */
class Step {
  readonly next = new Map<unknown, Step>();
  /** Of the options that end here. */
  parsed: ResolvedEntryOptions | undefined;
}

type Next = (step: Step | undefined, key: unknown) => Step | undefined;

const found: Next = (step, key) => step?.next.get(key);
const made: Next = (step, key) => {
  const next = step!.next.get(key) ?? new Step();
  step!.next.set(key, next);
  return next;
};

/** Where the options of an engine's calls begin, and how many have been parsed. */
interface Known {
  readonly first: Step;
  count: number;
}

const known = new WeakMap<ResolvedCacheOptions, Known>();

/**
 * The options of a call over those of the engine, as they were parsed when the same were given before.
 *
 * @throws InvalidOptionsError naming `where` and the option
 */
export function loadOptions(
  raw: CacheLoadOptions<never>,
  base: ResolvedCacheOptions,
  where: string,
): ResolvedEntryOptions {
  const before = hasGoodExtras(raw) ? follow(known.get(base)?.first, raw, found)?.parsed : undefined;
  // Also to find what is wrong.
  return before ?? parseAndRemember(raw, base, where);
}

function parseAndRemember(
  raw: CacheLoadOptions<never>,
  base: ResolvedCacheOptions,
  where: string,
): ResolvedEntryOptions {
  const {
    tags: _tags,
    types: _types,
    when: _when,
    unless: _unless,
    cacheErrors: _cacheErrors,
    signal: _signal,
    resultTags: _resultTags,
    ...entry
  } = parseOptions(loadSchema, raw, where);
  const options = mergeEntryOptions(base, entry, base.maxTtl, where);
  let steps = known.get(base);
  if (steps === undefined || steps.count >= MAX_PARSED) known.set(base, (steps = { first: new Step(), count: 0 }));
  steps.count++;
  follow(steps.first, raw, made)!.parsed = options;
  return options;
}

function hasGoodExtras(raw: CacheLoadOptions<never>): boolean {
  const { tags, resultTags, when, unless, cacheErrors, signal } = raw;
  if (tags !== undefined && !areTags(tags)) return false;
  if (when !== undefined && typeof when !== 'function') return false;
  if (unless !== undefined && typeof unless !== 'function') return false;
  if (cacheErrors !== undefined && typeof cacheErrors !== 'function') return false;
  if (resultTags !== undefined && resultTags !== true && typeof resultTags !== 'function') return false;
  return signal === undefined || signal instanceof AbortSignal;
}

/** What `tagsSchema` says, at the cost of a hit. */
export function areTags(tags: unknown): boolean {
  if (!Array.isArray(tags) || tags.length > MAX_TAGS) return false;
  for (const tag of tags) if (typeof tag !== 'string' || tag === '') return false;
  return true;
}

/** The step that these options lead to, each step taken by `next`. */
function follow(first: Step | undefined, raw: object, next: Next): Step | undefined {
  let step = first;
  for (const name in raw) {
    const value = (raw as Record<string, unknown>)[name];
    if (value === undefined || PER_CALL.has(name)) continue;
    if (step === undefined) return undefined;
    step = next(step, name);
    if (typeof value !== 'object' || value === null) step = next(step, value);
    else step = next(follow(next(step, START), value, next), END);
  }
  return step;
}
