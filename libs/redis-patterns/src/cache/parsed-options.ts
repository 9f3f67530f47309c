import { parseOptions } from '../core/options.js';
import type { CacheLoadOptions, ResolvedCacheOptions, ResolvedEntryOptions } from './cache.options.js';
import { loadSchema, MAX_TAGS, mergeEntryOptions } from './cache.schema.js';

/** Different options that calls may be given before their parsed forms are forgotten. */
const MAX_PARSED = 500;

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

/** By engine; parsing costs more than a hit, and calls bring the same few options again and again. */
const parsed = new WeakMap<ResolvedCacheOptions, Map<string, ResolvedEntryOptions>>();

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
  const signature = signatureOf(raw);
  const before = hasGoodExtras(raw) ? parsed.get(base)?.get(signature) : undefined;
  // Also to find what is wrong.
  return before ?? parseAndRemember(raw, signature, base, where);
}

function parseAndRemember(
  raw: CacheLoadOptions<never>,
  signature: string,
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
  let known = parsed.get(base);
  if (known === undefined || known.size >= MAX_PARSED) parsed.set(base, (known = new Map()));
  known.set(signature, options);
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

function signatureOf(raw: object): string {
  let signature = '';
  for (const name in raw) {
    if (PER_CALL.has(name)) continue;
    const value = (raw as Record<string, unknown>)[name];
    if (typeof value === 'number') signature += `${name}=${value};`;
    else if (value !== undefined) signature += `${name}=${describe(value)};`;
  }
  return signature;
}

/** Unequal for what is parsed to something unequal. */
function describe(value: unknown): string {
  if (typeof value === 'string') return `${value.length}:${value}`;
  return typeof value === 'object' && value !== null ? `{${signatureOf(value)}}` : `${typeof value} ${String(value)}`;
}
