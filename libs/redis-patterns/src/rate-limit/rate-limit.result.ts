import type { RateLimitAlgorithm, ResolvedPolicy } from './policy.js';

/**
 * Who decided: Redis; this process, from a refusal of Redis that still holds (`'cache'`); this process, as Redis could not
 * (`'local'`); nobody, as Redis could not and the policy says `onStoreError: 'open'`; or, without Redis, `allow`, `deny` or a
 * `resolve` that gave `null` (`'list'`).
 */
export type RateLimitSource = 'redis' | 'cache' | 'local' | 'open' | 'list';

/** Where a subject stands with one policy. */
export interface PolicyResult {
  readonly policy: string;
  /** How it counts. */
  readonly algorithm: RateLimitAlgorithm;
  /** Whether this policy had room; the call is allowed when all had. */
  readonly allowed: boolean;
  /** Units in a window; of a `'concurrency'` policy: leases at a time. */
  readonly limit: number;
  /** Length of the window, or of the lease, milliseconds. */
  readonly window: number;
  /** Units that are left now. */
  readonly remaining: number;
  /**
   * Milliseconds until the same call has room, if nobody else takes it, and one more, as timers fire up to that much early; 0 if it
   * had room, `Infinity` if it never will.
   */
  readonly retryAfterMs: number;
  /** Milliseconds until all units are back, if no more are taken; 0 when none are taken. */
  readonly resetAfterMs: number;
  /** `false` when the cost is above the limit, so that no wait helps. */
  readonly retryable: boolean;
  /** Whether the policy only watches: then `allowed: false` has refused nobody. */
  readonly shadow: boolean;
}

/** A decision. The fields of a policy at the top are those of the longest wait, else of the least room. */
export interface RateLimitResult extends Omit<PolicyResult, 'algorithm' | 'window' | 'shadow'> {
  /** Whether the call may go on. */
  readonly allowed: boolean;
  /** All policies that were looked at, in the order of the call; with the source `'cache'` only those that refuse. */
  readonly policies: readonly PolicyResult[];
  /** Names of the policies that had no room. */
  readonly violated: readonly string[];
  /** Server time of the decision in microseconds; `undefined` unless Redis decided. */
  readonly at: number | undefined;
  /** Units that were taken in Redis from each policy (the most, if their costs differ); 0 when refused, peeked or decided without Redis. */
  readonly charged: number;
  readonly source: RateLimitSource;
  /** HTTP status of what a `deny` list refused; else `undefined`. */
  readonly denyStatus: 429 | 403 | undefined;
}

/** How much too early a timer of Node may fire, milliseconds. */
const EARLY = 1;

/** What a check of one policy says: a wait of 0 has room, -1 never will. Times in milliseconds. */
export interface Standing {
  readonly wait: number;
  readonly remaining: number;
  readonly reset: number;
}

export function toPolicyResult(policy: ResolvedPolicy, standing: Standing): PolicyResult {
  const { name, algorithm, limit, window, shadow } = policy;
  const { wait, remaining, reset } = standing;
  return {
    policy: name,
    algorithm,
    allowed: wait === 0,
    limit,
    window,
    remaining,
    retryAfterMs: wait < 0 ? Infinity : wait === 0 ? 0 : wait + EARLY,
    resetAfterMs: reset,
    retryable: wait >= 0,
    shadow,
  };
}

export function toResult(
  policies: readonly PolicyResult[],
  { at, charged, source }: Pick<RateLimitResult, 'at' | 'charged' | 'source'>,
): RateLimitResult {
  let top = policies[0]!;
  for (const each of policies) {
    // What only watches comes last, and is never told instead of what decides.
    if (each.shadow) continue;
    const tighter = each.retryAfterMs === top.retryAfterMs && each.remaining < top.remaining;
    if (each.retryAfterMs > top.retryAfterMs || tighter) top = each;
  }
  const allowed = top.allowed || top.shadow;
  const violated: string[] = [];
  if (!allowed) for (const each of policies) if (!each.allowed && !each.shadow) violated.push(each.policy);
  return {
    allowed,
    limit: top.limit,
    remaining: top.remaining,
    retryAfterMs: allowed ? 0 : top.retryAfterMs,
    resetAfterMs: top.resetAfterMs,
    policy: top.policy,
    policies,
    violated,
    retryable: allowed || top.retryable,
    at,
    charged,
    source,
    denyStatus: undefined,
  };
}

/** What a `deny` list answers. */
export function deniedResult(policy: ResolvedPolicy, denyStatus: 429 | 403): RateLimitResult {
  const refused = { ...toPolicyResult(policy, { wait: -1, remaining: 0, reset: 0 }), shadow: false };
  return { ...toResult([refused], { at: undefined, charged: 0, source: 'list' }), denyStatus };
}

/** What a call is told of which no policy is left to count. */
export function uncountedResult({ name }: ResolvedPolicy): RateLimitResult {
  return {
    allowed: true,
    limit: Infinity,
    remaining: Infinity,
    retryAfterMs: 0,
    resetAfterMs: 0,
    policy: name,
    policies: [],
    violated: [],
    retryable: true,
    at: undefined,
    charged: 0,
    source: 'list',
    denyStatus: undefined,
  };
}
