import { Catch, Inject, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { throwError, type Observable } from 'rxjs';
import { RateLimitExceededError, RateLimitUnavailableError } from '../rate-limit.errors.js';
import { retryAfterHeader } from './rate-limit-headers.js';
import { RateLimitHttpException, toProblem } from './rate-limit-http.exception.js';

/**
 * Answers what limits throw, wherever in a request they threw it, with problem details and `Retry-After`, and does not log it
 * as a failure. It is the first of the global filters, which is the last one to be asked: any filter of the application that
 * catches these errors comes before.
 */
@Catch(RateLimitHttpException, RateLimitExceededError, RateLimitUnavailableError)
export class RateLimitFilter implements ExceptionFilter {
  constructor(
    @Inject(ApplicationConfig) config: ApplicationConfig,
    @Inject(HttpAdapterHost) private readonly adapterHost: HttpAdapterHost,
  ) {
    config.getGlobalFilters().unshift(this);
  }

  catch(
    exception: RateLimitHttpException | RateLimitExceededError | RateLimitUnavailableError,
    host: ArgumentsHost,
  ): Observable<never> | void {
    const error = exception instanceof RateLimitHttpException ? exception.cause : exception;
    if (host.getType<string>() === 'rpc') return throwError(() => ({ status: 'error', message: error.message }));
    // Elsewhere (GraphQL, stream consumers) a filter that returns would make a success of it.
    if (host.getType() !== 'http') throw exception;
    const { httpAdapter } = this.adapterHost;
    const response = host.switchToHttp().getResponse<unknown>();
    if (httpAdapter.isHeadersSent(response)) {
      httpAdapter.end(response);
      return;
    }
    for (const [name, value] of retryAfterHeader(error.retryAfter)) httpAdapter.setHeader(response, name, value);
    httpAdapter.setHeader(response, 'Content-Type', 'application/problem+json');
    // As text: given an object, Express of Nest 11 takes every type but application/json for a mistake, and changes it.
    httpAdapter.reply(response, JSON.stringify(toProblem(error)), error.status);
  }
}
