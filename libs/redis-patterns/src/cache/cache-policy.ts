import { z } from 'zod';
import { parseDuration, toMilliseconds, type Duration } from '../core/duration.js';
import { parseOptions } from '../core/options.js';
import {
  checkTtl,
  entryOptionsShape,
  type CacheLoadOptions,
  type ResolvedCacheOptions,
  type ResolvedEntryOptions,
} from './cache.options.js';

const DEFAULT_NEGATIVE_TTL = 30_000;

const predicate = <Fn>() => z.custom<Fn>((value) => typeof value === 'function', 'must be a function').optional();
const entrySchema = z.strictObject(entryOptionsShape);
const loadSchema = entrySchema.extend({
  when: predicate<() => boolean>(),
  unless: predicate<(value: never) => boolean>(),
  signal: z.custom<AbortSignal>((value) => value instanceof AbortSignal, 'must be an AbortSignal').optional(),
});
const versionRule = 'must be an integer >= 0';
const setSchema = z.strictObject({
  ttl: entryOptionsShape.ttl,
  negativeTtl: entryOptionsShape.negativeTtl,
  jitter: entryOptionsShape.jitter,
  version: z
    .union([z.int(versionRule).min(0, versionRule), z.bigint(versionRule).min(0n, versionRule)], versionRule)
    .optional(),
});

/** How the entries of one region, decorated method or call are stored and loaded: its options over those of the engine. */
export class CachePolicy {
  private constructor(
    readonly options: ResolvedEntryOptions,
    private readonly maxTtl: number,
    /** Who asks, for messages: `ProductService.find`. */
    readonly name: string,
    readonly useIf?: () => boolean,
    readonly skipIf?: (value: never) => boolean,
    readonly signal?: AbortSignal,
    /** Decimal text, or `''` for none. */
    readonly version = '',
  ) {}

  /** @throws InvalidOptionsError naming `where` and the option */
  static forEntries(raw: unknown, base: ResolvedCacheOptions, where: string): CachePolicy {
    return new CachePolicy(merge(base, parseOptions(entrySchema, raw ?? {}, where), where), base.maxTtl, where);
  }

  /** @throws InvalidOptionsError naming `where` and the option */
  static forLoad(raw: CacheLoadOptions<never> | undefined, base: ResolvedCacheOptions, where: string): CachePolicy {
    if (raw === undefined) return new CachePolicy(base, base.maxTtl, where);
    const { when, unless, signal, ...entry } = parseOptions(loadSchema, raw, where);
    return new CachePolicy(merge(base, entry, where), base.maxTtl, where, when, unless, signal);
  }

  /** @throws InvalidOptionsError naming `where` and the option */
  static forSet(raw: unknown, base: ResolvedCacheOptions, where: string): CachePolicy {
    if (raw === undefined) return new CachePolicy(base, base.maxTtl, where);
    const { version, ...entry } = parseOptions(setSchema, raw, where);
    return new CachePolicy(merge(base, entry, where), base.maxTtl, where).withVersion(version);
  }

  /**
   * The same for a value of that version.
   *
   * @throws InvalidOptionsError when it is not an integer >= 0
   */
  withVersion(version: number | bigint | undefined): CachePolicy {
    if (version === undefined) return this;
    const parsed = parseOptions(setSchema.pick({ version: true }), { version }, this.name);
    return new CachePolicy(
      this.options,
      this.maxTtl,
      this.name,
      this.useIf,
      this.skipIf,
      this.signal,
      String(parsed.version),
    );
  }

  /**
   * Milliseconds that a value is kept, shortened at random; 0: it is not stored.
   *
   * @param own what the factory has set, milliseconds; longer than `maxTtl` is cut to that
   */
  ttlOf(value: unknown, own?: number): number {
    const { ttl, negativeTtl, jitter } = this.options;
    const isNegative = value === null || value === undefined;
    const nominal = own ?? (isNegative ? (negativeTtl ?? Math.min(ttl, DEFAULT_NEGATIVE_TTL)) : ttl);
    if (nominal === 0) return 0;
    return Math.max(1, Math.round(Math.min(nominal, this.maxTtl) * (1 - Math.random() * jitter)));
  }

  /** @throws InvalidOptionsError when it is not a duration */
  parseTtl(ttl: Duration): number {
    return parseDuration(ttl) ?? toMilliseconds(ttl, this.name, 'ctx.setTtl()');
  }
}

/** What is given wins; of the engine's own options only those about entries are taken over. */
function merge(base: ResolvedCacheOptions, given: Partial<ResolvedEntryOptions>, where: string): ResolvedEntryOptions {
  if (given.ttl !== undefined) checkTtl(given.ttl, base.maxTtl, where, 'ttl');
  if (given.negativeTtl !== undefined) checkTtl(given.negativeTtl, base.maxTtl, where, 'negativeTtl');
  return {
    ttl: given.ttl ?? base.ttl,
    negativeTtl: given.negativeTtl ?? base.negativeTtl,
    jitter: given.jitter ?? base.jitter,
    lease: given.lease ?? base.lease,
    wait: given.wait ?? base.wait,
    maxHold: given.maxHold ?? base.maxHold,
  };
}
