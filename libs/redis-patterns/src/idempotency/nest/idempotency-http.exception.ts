import { HttpException } from '@nestjs/common';
import { STATUS_CODES } from 'node:http';
import type { Problem } from '../../nest/http/problem.filter.js';
import type { IdempotencyRefusedError } from '../idempotency.errors.js';

/** Body of an answer that says why a request was not run. `code` tells apart what has the same status. */
export interface IdempotencyProblem extends Problem {
  readonly code: string;
}

/**
 * What `@Idempotent` throws on a request handler that it does not run: 400, 409, 422 or 503. An `HttpException`, so that existing
 * exception filters answer it; `cause` is the coded error.
 *
 * @example
 * ```ts
 * @Catch(IdempotencyHttpException)
 * export class RepeatedFilter implements ExceptionFilter<IdempotencyHttpException> { … exception.cause.code … }
 * ```
 */
export class IdempotencyHttpException extends HttpException {
  declare readonly cause: IdempotencyRefusedError;

  constructor(error: IdempotencyRefusedError) {
    super({ ...toProblem(error) }, error.status, { cause: error });
    this.message = error.message;
  }

  /** Such as `ERR_IDEMPOTENCY_BUSY`. */
  get code(): string {
    return this.cause.code;
  }
}

export function toProblem({ code, status, message, retryAfter }: IdempotencyRefusedError): IdempotencyProblem {
  const wait = retryAfter === undefined ? {} : { retryAfter };
  return { type: 'about:blank', title: STATUS_CODES[status]!, status, detail: message, code, ...wait };
}
