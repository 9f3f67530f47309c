import { formatDuration } from '../core/duration.js';
import { RedisPatternsError } from '../core/errors.js';
import type { RateLimitResult } from './rate-limit.result.js';

/**
 * A call above the limit, from a provider method with `@RateLimit`. Code `ERR_RATE_LIMIT_EXCEEDED`. In the course of a request
 * that nobody catches it for, it is answered with 429 and `Retry-After`. A refused call has cost nothing: try again after
 * `result.retryAfterMs`.
 *
 * @example
 * ```ts
 * catch (error) {
 *   if (error instanceof RateLimitExceededError) return { busy: true, retryAfter: error.retryAfter };
 *   throw error;
 * }
 * ```
 */
export class RateLimitExceededError extends RedisPatternsError {
  /** 429, or the `denyStatus` of a list that refused. */
  readonly status: 429 | 403;
  /** `status`, `statusCode` and `expose` are how Nest, Express and others know an error that is an answer. */
  readonly statusCode: 429 | 403;
  readonly expose = true;
  /** Whole seconds to wait, at least 1; `undefined` when waiting does not help. */
  readonly retryAfter: number | undefined;

  constructor(readonly result: RateLimitResult) {
    super('ERR_RATE_LIMIT_EXCEEDED', exceededMessage(result));
    this.retryAfter = retryAfterSeconds(result.retryAfterMs);
    this.status = this.statusCode = result.denyStatus ?? 429;
  }
}

function exceededMessage({ policy, limit, policies, retryAfterMs, denyStatus }: RateLimitResult): string {
  if (denyStatus !== undefined) return `Rate limit '${policy}' lets nobody pass who is on its deny list`;
  const { algorithm, window = 0 } = policies.find((each) => each.policy === policy) ?? {};
  const span = algorithm === 'concurrency' ? 'at a time' : `in ${formatDuration(window)}`;
  const retryAfter = retryAfterSeconds(retryAfterMs);
  const remedy = retryAfter === undefined ? 'the call costs more than the whole limit' : `try again in ${retryAfter} s`;
  return `Rate limit '${policy}' is exceeded (${limit} ${span}); ${remedy}`;
}

/**
 * Redis could not decide within `deadline`, and a policy of the call says `onStoreError: 'closed'`. Code
 * `ERR_RATE_LIMIT_UNAVAILABLE`, HTTP 503: nobody is above a limit, the service is at fault. `cause` is the error of Redis.
 *
 * @example
 * ```ts
 * catch (error) {
 *   if (error instanceof RateLimitUnavailableError) return this.later(error.retryAfter);
 *   throw error;
 * }
 * ```
 */
export class RateLimitUnavailableError extends RedisPatternsError {
  readonly status = 503;
  readonly statusCode = 503;
  readonly expose = true;
  /** Whole seconds after which to try again. */
  readonly retryAfter = 1;

  constructor(
    readonly policy: string,
    cause: unknown,
  ) {
    super('ERR_RATE_LIMIT_UNAVAILABLE', `Rate limit '${policy}' cannot be decided now; try again in 1 s`, { cause });
  }
}

/**
 * The reason of the signal of a lease that could not be renewed in time: others may have its place. Code
 * `ERR_RATE_LIMIT_LEASE_LOST`. Stop what the lease was for, or go on and be one too many.
 */
export class RateLimitLeaseLostError extends RedisPatternsError {
  constructor(policies: readonly string[]) {
    const names = policies.map((name) => `'${name}'`).join(', ');
    super(
      'ERR_RATE_LIMIT_LEASE_LOST',
      `The lease of rate limit ${names} is lost: it was not renewed in time; check Redis, or give a longer 'lease'`,
    );
  }
}

/**
 * It cannot be told who a request is counted for: no address, no user with an id, or an empty subject. Code
 * `ERR_RATE_LIMIT_SUBJECT`. It is a fault of the set-up, which no limit can be shared out upon, so that the request fails.
 */
export class RateLimitSubjectError extends RedisPatternsError {
  constructor(where: string, message: string) {
    super('ERR_RATE_LIMIT_SUBJECT', `${where}: ${message}`);
  }
}

/** `Retry-After` in whole seconds: rounded up, so that it is never too early, and at least 1. The millisecond for timers is no second. */
export function retryAfterSeconds(ms: number): number | undefined {
  return Number.isFinite(ms) ? Math.max(1, Math.ceil((ms - 1) / 1000)) : undefined;
}
