import { Catch, Inject, type ArgumentsHost } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { throwError, type Observable } from 'rxjs';
import { ProblemFilter, type Problem } from '../../nest/http/problem.filter.js';
import { RateLimitExceededError, RateLimitUnavailableError } from '../rate-limit.errors.js';
import { toMessage } from './message-exceptions.js';
import { RateLimitHttpException, toProblem } from './rate-limit-http.exception.js';

type LimitException = RateLimitHttpException | RateLimitExceededError | RateLimitUnavailableError;

/** Answers what limits throw, wherever in a request they threw it. */
@Catch(RateLimitHttpException, RateLimitExceededError, RateLimitUnavailableError)
export class RateLimitFilter extends ProblemFilter<LimitException> {
  constructor(
    @Inject(ApplicationConfig) config: ApplicationConfig,
    @Inject(HttpAdapterHost) adapterHost: HttpAdapterHost,
  ) {
    super(config, adapterHost);
  }

  override catch(exception: LimitException, host: ArgumentsHost): Observable<never> | void {
    const type = host.getType<string>();
    if (type === 'rpc') return throwError(() => toMessage(errorOf(exception)));
    // It has what GraphQL clients get to know.
    if (type === 'graphql' && !(exception instanceof RateLimitHttpException))
      throw new RateLimitHttpException(exception);
    // Of the filter, and not of a promise.
    // oxlint-disable-next-line promise/valid-params
    return super.catch(exception, host);
  }

  protected override problemOf(exception: LimitException): Problem {
    return toProblem(errorOf(exception));
  }
}

function errorOf(exception: LimitException): RateLimitExceededError | RateLimitUnavailableError {
  return exception instanceof RateLimitHttpException ? exception.cause : exception;
}
