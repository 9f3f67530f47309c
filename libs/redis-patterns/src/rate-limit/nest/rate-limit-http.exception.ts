import { HttpException } from '@nestjs/common';
import { RateLimitExceededError, type RateLimitUnavailableError } from '../rate-limit.errors.js';

/** Problem type "quota exceeded", as the IETF draft on rate limit headers registers it. */
const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

/** Body of an answer that a limit gave: problem details (RFC 9457). */
export interface RateLimitProblem {
  readonly type: string;
  readonly title: string;
  readonly status: 429 | 503;
  readonly detail: string;
  /** Whole seconds, as in the `Retry-After` header; absent when waiting does not help. */
  readonly retryAfter?: number;
  /** Names of the policies that had no room. */
  readonly 'violated-policies'?: readonly string[];
}

/**
 * What the guard of `@RateLimit` throws on a request handler: 429, or 503 when Redis cannot decide and the policy is closed. An
 * `HttpException`, so that existing exception filters answer it; `cause` is the `RateLimitExceededError` or
 * `RateLimitUnavailableError`.
 *
 * @example
 * ```ts
 * @Catch(RateLimitHttpException)
 * export class TooManyFilter implements ExceptionFilter<RateLimitHttpException> { … exception.cause.result … }
 * ```
 */
export class RateLimitHttpException extends HttpException {
  declare readonly cause: RateLimitExceededError | RateLimitUnavailableError;

  constructor(error: RateLimitExceededError | RateLimitUnavailableError) {
    super({ ...toProblem(error) }, error.status, { cause: error });
    this.message = error.message;
  }

  /** `ERR_RATE_LIMIT_EXCEEDED` or `ERR_RATE_LIMIT_UNAVAILABLE`. */
  get code(): string {
    return this.cause.code;
  }
}

export function toProblem(error: RateLimitExceededError | RateLimitUnavailableError): RateLimitProblem {
  const { status, message: detail, retryAfter } = error;
  const wait = retryAfter === undefined ? {} : { retryAfter };
  if (!(error instanceof RateLimitExceededError)) {
    return { type: 'about:blank', title: 'Service Unavailable', status, detail, ...wait };
  }
  const violated = { 'violated-policies': error.result.violated };
  return { type: QUOTA_EXCEEDED, title: 'Too Many Requests', status, detail, ...wait, ...violated };
}
