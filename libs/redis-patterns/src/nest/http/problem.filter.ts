import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import type { ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { throwError, type Observable } from 'rxjs';

/** The body of an answer: problem details (RFC 9457). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** Whole seconds, as in the `Retry-After` header; absent when waiting does not help. */
  readonly retryAfter?: number;
}

/**
 * Answers errors of a pattern, wherever in a request they were thrown, with problem details and `Retry-After`, and does not log
 * them as failures. It is the first of the global filters, which is the last one to be asked: any filter of the application
 * that catches these errors comes before.
 */
export abstract class ProblemFilter<Exception extends Error> implements ExceptionFilter<Exception> {
  constructor(
    config: ApplicationConfig,
    private readonly adapterHost: HttpAdapterHost,
  ) {
    config.getGlobalFilters().unshift(this);
  }

  protected abstract problemOf(exception: Exception): Problem;

  catch(exception: Exception, host: ArgumentsHost): Observable<never> | void {
    if (host.getType<string>() === 'rpc') {
      return throwError(() => ({ status: 'error', message: exception.message }));
    }
    // Elsewhere (GraphQL, stream consumers) a filter that returns would make a success of it.
    if (host.getType() !== 'http') throw exception;
    const { httpAdapter } = this.adapterHost;
    const response = host.switchToHttp().getResponse<unknown>();
    if (httpAdapter.isHeadersSent(response)) {
      httpAdapter.end(response);
      return;
    }
    const problem = this.problemOf(exception);
    if (problem.retryAfter !== undefined) httpAdapter.setHeader(response, 'Retry-After', String(problem.retryAfter));
    httpAdapter.setHeader(response, 'Content-Type', 'application/problem+json');
    // As text: given an object, Express of Nest 11 takes every type but application/json for a mistake, and changes it.
    httpAdapter.reply(response, JSON.stringify(problem), problem.status);
  }
}
