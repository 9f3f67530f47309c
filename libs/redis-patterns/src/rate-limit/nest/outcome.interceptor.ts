import {
  Inject,
  Injectable,
  Optional,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { tap, type Observable } from 'rxjs';
import { KEEPS_BODY } from '../../nest/http/body-interceptors.js';
import { PATTERNS_RUNTIME, PatternsRuntime } from '../../nest/method-decorator/index.js';
import { RateLimitService } from '../rate-limit.service.js';
import { identityOf } from './client-request.js';

/**
 * Tells how a handler with `countWhen: 'failure'` has ended, where no HTTP response tells it. `@RateLimit` puts it in place with
 * that option only, as an interceptor costs more than the guard.
 */
@Injectable()
export class OutcomeInterceptor implements NestInterceptor {
  static readonly [KEEPS_BODY] = true;

  constructor(@Optional() @Inject(PATTERNS_RUNTIME) private readonly runtime: PatternsRuntime | undefined) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getType() === 'http' || !(this.runtime instanceof PatternsRuntime)) return next.handle();
    const request = this.runtime.engine(RateLimitService).ledger.of(identityOf(context));
    const end = (success: boolean) => (): void => request.end(context.getArgs(), success);
    return next.handle().pipe(tap({ complete: end(true), error: end(false), unsubscribe: end(false) }));
  }
}
