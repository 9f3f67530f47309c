/** What one process has seen of the cache since it started, and what it holds now. */
export interface CacheStats {
  /** Calls that were answered from Redis. */
  readonly hits: number;
  /** Calls that were answered from the memory of this process. */
  readonly l1Hits: number;
  /** Calls that were answered with a stale copy. */
  readonly staleHits: number;
  /** Calls that were answered with an error that is remembered; see `cacheErrors`. */
  readonly errorHits: number;
  /** Calls that found nothing. */
  readonly misses: number;
  /** Reads that had to do without Redis. */
  readonly offline: number;
  /** Factories that were run, and those of them that failed. */
  readonly loads: number;
  readonly loadErrors: number;
  /** Values that were loaded and stored; those that an invalidation, or a lost lease, kept from being stored. */
  readonly stored: number;
  readonly fenced: number;
  /** Factories that run now. */
  readonly running: number;
  /** Evictions that Redis has to be told of when it answers again. */
  readonly queuedEvictions: number;
  /** The copies of this process; `undefined` without `cache.l1`. */
  readonly l1: { readonly size: number; readonly bytes: number; readonly armed: boolean } | undefined;
}

/** The part of {@link CacheStats} that only grows. */
export type CacheCounters = {
  -readonly [Name in Exclude<keyof CacheStats, 'running' | 'queuedEvictions' | 'l1'>]: number;
};

export function newCounters(): CacheCounters {
  const answers = { hits: 0, l1Hits: 0, staleHits: 0, errorHits: 0, misses: 0, offline: 0 };
  return { ...answers, loads: 0, loadErrors: 0, stored: 0, fenced: 0 };
}
