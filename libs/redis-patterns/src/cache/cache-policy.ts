import { addTypes, type Class, type ValueCodec } from '../codec/index.js';
import { parseDuration, toMilliseconds, type Duration } from '../core/duration.js';
import { InvalidOptionsError } from '../core/errors.js';
import { parseOptions } from '../core/options.js';
import type { CacheLoadOptions, CacheSetOptions, ResolvedCacheOptions, ResolvedEntryOptions } from './cache.options.js';
import { entrySchema, mergeEntryOptions, setSchema, tagsSchema } from './cache.schema.js';
import type { CacheLoadFailure } from './load-failure.js';
import { areTags, loadOptions } from './parsed-options.js';
import { NO_TAGS, tagNames, unionOfTags, type TagNames } from './tags.js';

const DEFAULT_NEGATIVE_TTL = 30_000;

/** How long a value is kept, milliseconds. */
export interface Lifetime {
  /** 0: it is not stored. */
  readonly fresh: number;
  readonly stale: number;
}

type CacheErrors = NonNullable<CacheLoadOptions['cacheErrors']>;

const NOT_STORED: Lifetime = { fresh: 0, stale: 0 };

/** What belongs to one call beside the options of its entries and the tags; named as a call names it, so that it is no copy. */
interface Extras {
  readonly resultTags?: true | ((value: never) => readonly string[]) | undefined;
  readonly when?: (() => boolean) | undefined;
  readonly unless?: ((value: never) => boolean) | undefined;
  readonly cacheErrors?: CacheErrors | undefined;
  readonly signal?: AbortSignal | undefined;
}

const NO_EXTRAS: Extras = {};

/** How the entries of one region, decorated method or call are stored and loaded: its options over those of the engine. */
export class CachePolicy {
  readonly resultTags: true | ((value: never) => readonly string[]) | undefined;
  readonly useIf: (() => boolean) | undefined;
  readonly skipIf: ((value: never) => boolean) | undefined;
  readonly cacheErrors: CacheErrors | undefined;
  readonly signal: AbortSignal | undefined;

  private constructor(
    readonly options: ResolvedEntryOptions,
    private readonly base: ResolvedCacheOptions,
    /** Who asks, for messages: `ProductService.find`. */
    readonly name: string,
    readonly tags: TagNames = NO_TAGS,
    extras: Extras = NO_EXTRAS,
    /** Decimal text, or `''` for none. */
    readonly version = '',
  ) {
    this.resultTags = extras.resultTags;
    this.useIf = extras.when;
    this.skipIf = extras.unless;
    this.cacheErrors = extras.cacheErrors;
    this.signal = extras.signal;
  }

  /** @throws InvalidOptionsError naming `where` and the option */
  static forEntries(raw: unknown, base: ResolvedCacheOptions, where: string): CachePolicy {
    const { tags, types, cacheErrors, ...entry } = parseOptions(entrySchema, raw ?? {}, where);
    learn(types, base, where);
    const options = mergeEntryOptions(base, entry, base.maxTtl, where);
    return new CachePolicy(options, base, where, tagNames(tags), { cacheErrors });
  }

  /** @throws InvalidOptionsError naming `where` and the option */
  static forLoad(raw: CacheLoadOptions<never> | undefined, base: ResolvedCacheOptions, where: string): CachePolicy {
    if (raw === undefined) return new CachePolicy(base, base, where);
    const options = loadOptions(raw, base, where);
    learn(raw.types, base, where);
    return new CachePolicy(options, base, where, tagNames(raw.tags), raw);
  }

  /** @throws InvalidOptionsError naming `where` and the option */
  static forSet(raw: CacheSetOptions | undefined, base: ResolvedCacheOptions, where: string): CachePolicy {
    if (raw === undefined) return new CachePolicy(base, base, where);
    const { version, tags, types, ...entry } = parseOptions(setSchema, raw, where);
    learn(types, base, where);
    const options = mergeEntryOptions(base, entry, base.maxTtl, where);
    return new CachePolicy(options, base, where, tagNames(tags)).withVersion(version);
  }

  /**
   * The same for a value of that version.
   *
   * @throws InvalidOptionsError when it is not an integer >= 0
   */
  withVersion(version: number | bigint | undefined): CachePolicy {
    if (version === undefined) return this;
    const parsed = parseOptions(setSchema.pick({ version: true }), { version }, this.name);
    return new CachePolicy(this.options, this.base, this.name, this.tags, this.#extras, String(parsed.version));
  }

  /**
   * The same with these tags.
   *
   * @param resultTags further ones, from the value
   * @throws InvalidOptionsError when they are not an array of texts
   */
  withTags(tags: readonly string[], resultTags?: (value: never) => readonly string[]): CachePolicy {
    if (!areTags(tags)) parseOptions(tagsSchema, tags, this.name, 'tags');
    const extras = { ...this.#extras, resultTags: resultTags ?? this.resultTags };
    return new CachePolicy(this.options, this.base, this.name, tagNames(tags), extras, this.version);
  }

  /** The same for a value that is known: with all of its tags. */
  forValue(value: unknown): CachePolicy {
    if (typeof this.resultTags !== 'function') return this;
    const tags = this.parseResultTags(this.resultTags(value as never), 'resultTags');
    const all = unionOfTags(this.tags, tags);
    return new CachePolicy(this.options, this.base, this.name, all, this.#extras, this.version);
  }

  /** Milliseconds that `null` and `undefined` stay fresh. */
  get negativeTtl(): number {
    const { ttl, negativeTtl } = this.options;
    return negativeTtl ?? Math.min(ttl, DEFAULT_NEGATIVE_TTL);
  }

  /**
   * For how long a value is kept; the fresh time is shortened at random.
   *
   * @param own what the factory has set, milliseconds; longer than `maxTtl` is cut to that
   */
  lifetimeOf(value: unknown, own?: number): Lifetime {
    const { ttl, jitter } = this.options;
    const isNegative = value === null || value === undefined;
    // What does not exist now may exist soon: no copy of that outlives its time.
    const stale = isNegative ? 0 : this.options.stale;
    const nominal = own ?? (isNegative ? this.negativeTtl : ttl);
    if (nominal === 0) return NOT_STORED;
    const fresh = Math.min(nominal, this.base.maxTtl - stale) * (1 - Math.random() * jitter);
    return { fresh: Math.max(1, Math.round(fresh)), stale };
  }

  /**
   * Milliseconds for which an error of the factory is remembered; 0: not at all. At most `maxTtl`.
   *
   * @throws what `cacheErrors` throws; InvalidOptionsError when it does not give a duration
   */
  errorTtl(error: unknown): number {
    const ttl = this.cacheErrors?.(error);
    return ttl === undefined ? 0 : Math.min(toMilliseconds(ttl, this.name, 'cacheErrors()'), this.base.maxTtl);
  }

  /** The failure in an entry, for a call that wants to know; to others it is a miss. */
  rememberedIn({ failure }: { failure?: CacheLoadFailure | undefined }): CacheLoadFailure | undefined {
    return this.cacheErrors === undefined ? undefined : failure;
  }

  get values(): ValueCodec {
    return this.base.values;
  }

  /** @throws InvalidOptionsError when it is not a duration */
  parseTtl(ttl: Duration): number {
    return parseDuration(ttl) ?? toMilliseconds(ttl, this.name, 'ctx.setTtl()');
  }

  /** @throws InvalidOptionsError when they are not an array of texts, or cannot be told before the load */
  parseResultTags(tags: readonly string[], option: string): TagNames {
    if (this.resultTags === undefined) {
      const message = `needs the option resultTags: true, so that the load can notice an invalidation while it runs`;
      throw new InvalidOptionsError(this.name, [{ path: option, message }]);
    }
    return tagNames(parseOptions(tagsSchema, tags, this.name, option));
  }

  get #extras(): Extras {
    const { resultTags, useIf, skipIf, cacheErrors, signal } = this;
    return { resultTags, when: useIf, unless: skipIf, cacheErrors, signal };
  }
}

function learn(types: readonly Class[] | undefined, base: ResolvedCacheOptions, where: string): void {
  if (types !== undefined) addTypes(base.values.types, types, where);
}
