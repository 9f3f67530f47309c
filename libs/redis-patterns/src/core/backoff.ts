/** Exponential back-off. Times are milliseconds. */
export interface BackoffOptions {
  /** Upper bound of the first pause. */
  readonly base: number;
  /** Upper bound of every pause. */
  readonly max: number;
  /** Growth of the bound per attempt. Default 2. */
  readonly factor?: number;
  /** A number in [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

/**
 * Milliseconds to pause after a failed attempt: exponential with full jitter, that is, anywhere between 0 and the bound,
 * so that clients that failed together do not come back together (Marc Brooker, "Exponential Backoff And Jitter", AWS
 * Architecture Blog, 2015).
 *
 * @param attempt the number of attempts that have failed, from 1
 *
 * @example
 * ```ts
 * backoffDelay(3, { base: 10, max: 1_000 }); // between 0 and 40
 * ```
 */
export function backoffDelay(attempt: number, options: BackoffOptions): number {
  return (options.random ?? Math.random)() * backoffBound(attempt, options);
}

/** The longest pause that {@link backoffDelay} can give for an attempt. */
export function backoffBound(attempt: number, { base, max, factor = 2 }: BackoffOptions): number {
  // The exponent is bounded too: 0 * Infinity would be NaN.
  return Math.min(max, base * factor ** Math.min(Math.max(attempt, 1) - 1, 64));
}
