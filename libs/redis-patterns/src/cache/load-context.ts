import type { Duration } from '../core/duration.js';
import type { CachePolicy } from './cache-policy.js';

/** What a factory is given. */
export interface CacheLoadContext {
  /** Aborts when no caller waits any more, or when the application closes. */
  readonly signal: AbortSignal;
  /** The value is returned, but not stored. */
  readonly skip: () => void;
  /**
   * The ttl of this value: for example from a header of the answer it was made of. Longer than `maxTtl` is cut to that; 0
   * does not store.
   *
   * @throws InvalidOptionsError when it is not a duration
   */
  readonly setTtl: (ttl: Duration) => void;
}

/** Makes the value of a missing entry. */
export type CacheFactory<T> = (context: CacheLoadContext) => T | Promise<T>;

export class FactoryContext implements CacheLoadContext {
  skipped = false;
  /** Milliseconds; `undefined` when the factory has not said. */
  ttl: number | undefined;

  constructor(
    private readonly flight: { readonly signal: AbortSignal },
    private readonly policy: CachePolicy,
  ) {}

  get signal(): AbortSignal {
    return this.flight.signal;
  }

  // Properties, so that factories may take them out of the context.
  readonly skip = (): void => {
    this.skipped = true;
  };

  readonly setTtl = (ttl: Duration): void => {
    this.ttl = this.policy.parseTtl(ttl);
  };
}
