import { Inject, Injectable, Optional, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { NotBoundError } from '../../../core/errors.js';
import { PATTERNS_RUNTIME, PatternsRuntime } from '../../../nest/method-decorator/index.js';
import { carry } from './carrier.js';
import { HttpExchange } from '../../../nest/http/exchange.js';
import { HiddenQuery } from './hidden-query.js';
import { ResponseCall } from './response-call.js';
import type { ResponsePlan } from './response-plan.js';
import { ResponseUse } from './response-use.js';

/**
 * The guard that `@CacheResponse` puts on a handler. It lets all requests pass: it is there to learn of a request what the handler
 * is not told, and to hide undeclared query parameters before pipes and parameter decorators read them.
 *
 * The work is done around the handler and not by an interceptor, for each of which Nest makes several Observables.
 */
@Injectable()
export class CacheResponseGuard implements CanActivate {
  readonly #plans = new WeakMap<object, WeakMap<object, ResponsePlan>>();

  constructor(
    @Optional() @Inject(PATTERNS_RUNTIME) private readonly runtime: PatternsRuntime | undefined,
    @Inject(HttpAdapterHost) private readonly adapterHost: HttpAdapterHost,
  ) {}

  /** @throws NotBoundError where RedisPatternsModule is not imported */
  canActivate(context: ExecutionContext): boolean {
    const plan = this.#planOf(context);
    const exchange = new HttpExchange(context, this.adapterHost.httpAdapter);
    const query = new HiddenQuery(exchange.request);
    query.hideExcept(plan.options.query ?? []);
    carry(exchange.request, new ResponseCall(plan, context, exchange, query));
    return true;
  }

  #planOf(context: ExecutionContext): ResponsePlan {
    const owner = context.getClass();
    const handler = context.getHandler();
    let plans = this.#plans.get(owner);
    if (plans === undefined) this.#plans.set(owner, (plans = new WeakMap()));
    let plan = plans.get(handler);
    if (plan === undefined) plans.set(handler, (plan = this.#findPlan(owner.prototype as object, handler)));
    return plan;
  }

  #findPlan(prototype: object, handler: { readonly name: string }): ResponsePlan {
    const { runtime } = this;
    const plan = runtime instanceof PatternsRuntime ? ResponseUse.of(handler)?.planFor(runtime, prototype) : undefined;
    if (plan !== undefined) return plan;
    throw new NotBoundError(
      `${prototype.constructor.name}.${handler.name} with @CacheResponse was not run: RedisPatternsModule is not imported in the ` +
        `module of its controller (with isGlobal: false it has to be, in every such module), or has not started.`,
    );
  }
}
