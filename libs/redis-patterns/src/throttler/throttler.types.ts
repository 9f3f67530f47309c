import type { ResolvedRateLimitOptions } from '../rate-limit/index.js';

/** A hit on one limit: the arguments of `increment`, by name. Times in milliseconds. */
export interface ThrottlerHit {
  /** Who is counted, and for what; escaped, so it may hold anything. */
  readonly key: string;
  /** How long a hit counts, from 1 to 1e12. */
  readonly ttl: number;
  /** Hits within `ttl`; fractions are cut off. `Infinity`: no limit, and no call to Redis. */
  readonly limit: number;
  /** How long everything is refused once a hit finds no room. 0: until the oldest hit is over. */
  readonly blockDuration: number;
  /** Name of the limit; counts of different names are apart, whatever `key` is. */
  readonly throttlerName: string;
}

/** What is known of a limit after a hit: the `ThrottlerStorageRecord` of `@nestjs/throttler`. Times in whole seconds, rounded up. */
export interface ThrottlerRecord {
  /** Hits that count, with this one, also if it is refused by this limit. */
  totalHits: number;
  /** Seconds until the oldest hit is over, while blocked until the block is. */
  timeToExpire: number;
  isBlocked: boolean;
  /** Seconds until a hit has room again; 0 unless blocked. */
  timeToBlockExpire: number;
}

/** Where to count while Redis can not: the storage in memory of `@nestjs/throttler`. */
export interface LocalStorage {
  increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerRecord>;
  onApplicationShutdown?(): void;
}

/** What the storage takes from the options of rate limits. */
export type ThrottlerStoreOptions = Pick<ResolvedRateLimitOptions, 'deadline' | 'onStoreError' | 'localShare'>;
