import type { ResolvedPolicy } from './policy.js';

/**
 * Who decided: Redis; this process, as Redis could not (`'local'`); or nobody, as the policy says `onStoreError: 'open'`.
 */
export type RateLimitSource = 'redis' | 'local' | 'open';

/** Where a subject stands with one policy. */
export interface PolicyResult {
  readonly policy: string;
  /** Whether this policy had room; the call is allowed when all had. */
  readonly allowed: boolean;
  /** Units in a window. */
  readonly limit: number;
  /** Length of the window, milliseconds. */
  readonly window: number;
  /** Units that are left now. */
  readonly remaining: number;
  /** Milliseconds until the same call has room, if nobody else takes it; 0 if it had room, `Infinity` if it never will. */
  readonly retryAfterMs: number;
  /** Milliseconds until all units are back, if no more are taken; 0 when none are taken. */
  readonly resetAfterMs: number;
  /** `false` when the cost is above the limit, so that no wait helps. */
  readonly retryable: boolean;
}

/** A decision. The fields of a policy at the top are those of the longest wait, else of the least room. */
export interface RateLimitResult extends Omit<PolicyResult, 'window'> {
  /** Whether the call may go on. */
  readonly allowed: boolean;
  /** All policies, in the order of the call. */
  readonly policies: readonly PolicyResult[];
  /** Names of the policies that had no room. */
  readonly violated: readonly string[];
  /** Server time of the decision in microseconds; `undefined` unless Redis decided. */
  readonly at: number | undefined;
  /** Units that were taken in Redis from each policy (the most, if their costs differ); 0 when refused, peeked or decided without Redis. */
  readonly charged: number;
  readonly source: RateLimitSource;
}

/** What a check of one policy says: a wait of 0 has room, -1 never will. Times in milliseconds. */
export interface Standing {
  readonly wait: number;
  readonly remaining: number;
  readonly reset: number;
}

export function toPolicyResult({ name, limit, window }: ResolvedPolicy, standing: Standing): PolicyResult {
  const { wait, remaining, reset } = standing;
  return {
    policy: name,
    allowed: wait === 0,
    limit,
    window,
    remaining,
    retryAfterMs: wait < 0 ? Infinity : wait,
    resetAfterMs: reset,
    retryable: wait >= 0,
  };
}

export function toResult(
  policies: readonly PolicyResult[],
  rest: Pick<RateLimitResult, 'at' | 'charged' | 'source'>,
): RateLimitResult {
  let top = policies[0]!;
  for (const each of policies) {
    const tighter = each.retryAfterMs === top.retryAfterMs && each.remaining < top.remaining;
    if (each.retryAfterMs > top.retryAfterMs || tighter) top = each;
  }
  return {
    allowed: top.allowed,
    limit: top.limit,
    remaining: top.remaining,
    retryAfterMs: top.retryAfterMs,
    resetAfterMs: top.resetAfterMs,
    policy: top.policy,
    policies,
    violated: top.allowed ? [] : policies.filter((each) => !each.allowed).map((each) => each.policy),
    retryable: top.retryable,
    ...rest,
  };
}
