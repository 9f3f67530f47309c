import { Catch, Inject } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { ProblemFilter, type Problem } from '../../nest/http/problem.filter.js';
import { IdempotencyRefusedError } from '../idempotency.errors.js';
import { IdempotencyHttpException, toProblem } from './idempotency-http.exception.js';

/** Answers calls that were not run. */
@Catch(IdempotencyHttpException, IdempotencyRefusedError)
export class IdempotencyFilter extends ProblemFilter<IdempotencyHttpException | IdempotencyRefusedError> {
  constructor(@Inject(ApplicationConfig) config: ApplicationConfig, @Inject(HttpAdapterHost) host: HttpAdapterHost) {
    super(config, host);
  }

  protected override problemOf(exception: IdempotencyHttpException | IdempotencyRefusedError): Problem {
    return toProblem(exception instanceof IdempotencyHttpException ? exception.cause : exception);
  }
}
