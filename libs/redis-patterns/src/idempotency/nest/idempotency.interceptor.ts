import { Inject, Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost, MetadataScanner, ModulesContainer } from '@nestjs/core';
import { lastValueFrom, of, ReplaySubject, type Observable } from 'rxjs';
import { NotBoundError } from '../../core/errors.js';
import { KEEPS_BODY } from '../../nest/http/body-interceptors.js';
import { HttpExchange } from '../../nest/http/exchange.js';
import { PATTERNS_RUNTIME, type PatternsRuntime } from '../../nest/method-decorator/index.js';
import { RateLimitService } from '../../rate-limit/index.js';
import { IdempotencyRefusedError } from '../idempotency.errors.js';
import { IdempotencyHttpException } from './idempotency-http.exception.js';
import type { HandlerPlan } from './handler/handler-plan.js';
import { IdempotentUse } from './idempotent-use.js';

/** Property of a request that the interceptor of the application has taken. */
const CARRIED = Symbol.for('nestjs-redis-patterns:idempotent-request');

/**
 * Does the work of `@Idempotent` on handlers. It is the first interceptor of the application, whatever that registers: so it
 * keeps the answer as the last serializer has left it, and a replay skips all of them. Only there if a controller is marked.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  static readonly [KEEPS_BODY] = true;

  constructor(
    @Inject(ApplicationConfig) config: ApplicationConfig,
    @Inject(ModulesContainer) modules: ModulesContainer,
    @Inject(PATTERNS_RUNTIME) private readonly runtime: PatternsRuntime,
    @Inject(HttpAdapterHost) private readonly adapterHost: HttpAdapterHost,
  ) {
    // Routes are registered later, with the list as it is then.
    if (hasMarkedController(modules)) config.getGlobalInterceptors().unshift(this);
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> | Promise<Observable<unknown>> {
    const use = context.getType() === 'http' ? IdempotentUse.of(context.getHandler()) : undefined;
    return use === undefined ? next.handle() : this.#answer(use, context, next);
  }

  async #answer(use: IdempotentUse, context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const plan = use.planFor(this.runtime, context.getClass().prototype as object);
    if (plan === undefined) throw notBound(context);
    const exchange = new HttpExchange(context, this.adapterHost.httpAdapter);
    Reflect.set(exchange.request, CARRIED, plan);
    try {
      return of(await plan.answer(context, exchange, next, () => this.#onReplay(exchange.request)));
    } catch (error) {
      throw error instanceof IdempotencyRefusedError ? new IdempotencyHttpException(error) : error;
    }
  }

  /** A replay has run nothing, so it costs no rate limit. */
  #onReplay(request: object): void {
    try {
      this.runtime.engine(RateLimitService).ledger.of(request).refundAll();
    } catch {
      // A test may have put anything in the place of the limits, or have left them out.
    }
  }
}

/** On each handler with `@Idempotent`: without the interceptor of the application nothing would protect it. */
@Injectable()
export class CarriedInterceptor implements NestInterceptor {
  static readonly [KEEPS_BODY] = true;

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getType() !== 'http') return next.handle();
    const plan = Reflect.get(context.switchToHttp().getRequest<object>(), CARRIED) as HandlerPlan | undefined;
    if (plan === undefined) throw notBound(context);
    // Who unsubscribes does not end what the handler does.
    const answer = new ReplaySubject<unknown>();
    const work = lastValueFrom(answer, { defaultValue: undefined });
    // Its error is in the answer as well; and where no key protects the request nobody watches.
    work.catch(() => undefined);
    plan.watch(work);
    next.handle().subscribe(answer);
    return answer;
  }
}

function hasMarkedController(modules: ModulesContainer): boolean {
  const scanner = new MetadataScanner();
  const isMarked = (prototype: Record<string, object>): boolean =>
    scanner.getAllMethodNames(prototype).some((name) => IdempotentUse.of(prototype[name]!) !== undefined);
  return [...modules.values()]
    .flatMap((module) => [...module.controllers.values()])
    .some(({ metatype }) => typeof metatype === 'function' && isMarked(metatype.prototype as Record<string, object>));
}

function notBound(context: ExecutionContext): NotBoundError {
  return new NotBoundError(
    `${context.getClass().name}.${context.getHandler().name} with @Idempotent was not run: RedisPatternsModule is not imported in ` +
      `the module of its controller (with isGlobal: false it has to be, in every such module), or has not started.`,
  );
}
