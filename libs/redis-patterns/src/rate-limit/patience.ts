import { backoffDelay, raceSignal, sleep } from '../core/index.js';
import type { RateLimitResult } from './rate-limit.result.js';

/** How long a caller waits for room. */
export interface Patience {
  /** Milliseconds at the most. */
  readonly wait: number;
  readonly signal?: AbortSignal | undefined;
  /** Ends all waiting: the last refusal is the answer. */
  readonly closing: AbortSignal;
}

/**
 * Decides again whenever there may be room, until the call is admitted, the time is over, or no wait would help within it.
 *
 * @param guess whether room may come back sooner than `retryAfterMs` says, so that it is looked for in between
 * @throws `signal.reason`, and what `decide` throws
 */
export async function decidePatiently<Decision>(
  decide: () => Promise<Decision>,
  resultOf: (decision: Decision) => RateLimitResult,
  { wait, signal, closing }: Patience,
  guess: boolean,
): Promise<Decision> {
  const end = performance.now() + wait;
  for (let attempt = 1; ; attempt++) {
    const decision = await decide();
    const { allowed, retryable, retryAfterMs } = resultOf(decision);
    const left = end - performance.now();
    if (allowed || !retryable || left <= 0 || closing.aborted) return decision;
    if (!guess && retryAfterMs > left) return decision;
    const pause = guess
      ? Math.min(retryAfterMs, left, 1 + backoffDelay(attempt, { base: 20, max: 250 }))
      : retryAfterMs;
    const ended = await raceSignal(sleep(pause, signal), closing).then(
      () => false,
      () => true,
    );
    if (!ended) continue;
    signal?.throwIfAborted();
    return decision;
  }
}
