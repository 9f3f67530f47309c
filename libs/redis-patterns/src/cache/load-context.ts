import type { Duration } from '../core/duration.js';
import type { CachePolicy } from './cache-policy.js';
import { decodeContent, type Content } from './entry.js';
import { NO_TAGS, unionOfTags, type TagNames } from './tags.js';

/** What a factory is given. */
export interface CacheLoadContext {
  /** Aborts when no caller waits any more, or when the application closes. */
  readonly signal: AbortSignal;
  /** The former value, a copy, when this load refreshes one: for example to ask only for what has changed. Else `undefined`. */
  readonly stale?: unknown;
  /** The value is returned, but not stored. */
  readonly skip: () => void;
  /**
   * The ttl of this value: for example from a header of the answer it was made of. Longer than `maxTtl` is cut to that; 0
   * does not store.
   *
   * @throws InvalidOptionsError when it is not a duration
   */
  readonly setTtl: (ttl: Duration) => void;
  /**
   * Adds tags to the entry of this value. Needs the option `resultTags: true`.
   *
   * @throws InvalidOptionsError without that option
   */
  readonly setTags: (tags: readonly string[]) => void;
}

/** Makes the value of a missing entry. */
export type CacheFactory<T> = (context: CacheLoadContext) => T | Promise<T>;

export class FactoryContext implements CacheLoadContext {
  skipped = false;
  /** Milliseconds; `undefined` when the factory has not said. */
  ttl: number | undefined;
  tags: TagNames = NO_TAGS;
  #stale: unknown;

  constructor(
    private readonly flight: { readonly signal: AbortSignal },
    private readonly policy: CachePolicy,
    private readonly former?: Content,
  ) {}

  get signal(): AbortSignal {
    return this.flight.signal;
  }

  get stale(): unknown {
    if (this.#stale === undefined && this.former !== undefined) this.#stale = decodeContent(this.former);
    return this.#stale;
  }

  // Bound, so that factories may take them out of the context, and made when they are asked for, as most factories do not.
  get skip() {
    return (): void => {
      this.skipped = true;
    };
  }

  get setTtl() {
    return (ttl: Duration): void => {
      this.ttl = this.policy.parseTtl(ttl);
    };
  }

  get setTags() {
    return (tags: readonly string[]): void => {
      this.tags = unionOfTags(this.tags, this.policy.parseResultTags(tags, 'ctx.setTags()'));
    };
  }
}
