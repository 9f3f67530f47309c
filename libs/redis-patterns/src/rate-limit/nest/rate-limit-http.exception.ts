import { HttpException } from '@nestjs/common';
import { STATUS_CODES } from 'node:http';
import type { Problem } from '../../nest/http/problem.filter.js';
import { RateLimitExceededError, type RateLimitUnavailableError } from '../rate-limit.errors.js';

/** Problem type "quota exceeded", as the IETF draft on rate limit headers registers it. */
const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

/** Body of an answer that a limit gave. */
export interface RateLimitProblem extends Problem {
  readonly status: 429 | 403 | 503;
  /** Names of the policies that had no room. */
  readonly 'violated-policies'?: readonly string[];
}

/**
 * What the guard of `@RateLimit` throws on a handler of HTTP or GraphQL: 429 (403 for who is on a `deny` list with
 * `denyStatus: 403`), or 503 when Redis cannot decide and the policy is closed. An
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
  /** What a GraphQL client finds in `extensions` of the error. */
  readonly extensions: Readonly<Record<string, unknown>>;

  constructor(error: RateLimitExceededError | RateLimitUnavailableError) {
    const { type: _type, title: _title, detail: _detail, ...facts } = toProblem(error);
    super({ ...toProblem(error) }, error.status, { cause: error });
    this.message = error.message;
    this.extensions = { code: error.code, ...facts };
  }

  /** `ERR_RATE_LIMIT_EXCEEDED` or `ERR_RATE_LIMIT_UNAVAILABLE`. */
  get code(): string {
    return this.cause.code;
  }
}

export function toProblem(error: RateLimitExceededError | RateLimitUnavailableError): RateLimitProblem {
  const { status, message: detail, retryAfter } = error;
  const type = status === 429 ? QUOTA_EXCEEDED : 'about:blank';
  const wait = retryAfter === undefined ? {} : { retryAfter };
  const violated = error instanceof RateLimitExceededError ? { 'violated-policies': error.result.violated } : {};
  return { type, title: STATUS_CODES[status]!, status, detail, ...wait, ...violated };
}
