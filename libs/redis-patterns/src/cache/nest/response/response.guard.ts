import { Inject, Injectable, Optional, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { NotBoundError } from '../../../core/errors.js';
import { PATTERNS_RUNTIME, PatternsRuntime } from '../../../nest/method-decorator/index.js';
import { carry } from './carrier.js';
import { mayChangeBody } from '../../../nest/http/body-interceptors.js';
import { HttpExchange } from '../../../nest/http/exchange.js';
import { HiddenQuery } from './hidden-query.js';
import { ResponseCall } from './response-call.js';
import type { ResponsePlan } from './response-plan.js';
import { ResponseUse } from './response-use.js';

/** A handler of a controller. */
interface Route {
  readonly plan: ResponsePlan;
  /** Whether no interceptor can change what the handler returns. */
  readonly sendsValue: boolean;
}

/**
 * The guard that `@CacheResponse` puts on a handler. It lets all requests pass: it is there to learn of a request what the handler
 * is not told, and to hide undeclared query parameters before pipes and parameter decorators read them.
 *
 * The work is done around the handler and not by an interceptor, for each of which Nest makes several Observables.
 */
@Injectable()
export class CacheResponseGuard implements CanActivate {
  readonly #routes = new WeakMap<object, WeakMap<object, Route>>();

  constructor(
    @Optional() @Inject(PATTERNS_RUNTIME) private readonly runtime: PatternsRuntime | undefined,
    @Inject(HttpAdapterHost) private readonly adapterHost: HttpAdapterHost,
    @Inject(ApplicationConfig) private readonly config: ApplicationConfig,
  ) {}

  /** @throws NotBoundError where RedisPatternsModule is not imported */
  canActivate(context: ExecutionContext): boolean {
    const { plan, sendsValue } = this.#routeOf(context);
    const exchange = new HttpExchange(context, this.adapterHost.httpAdapter);
    const query = new HiddenQuery(exchange.request);
    query.hideExcept(plan.options.query ?? []);
    carry(exchange.request, new ResponseCall(plan, context, exchange, query, sendsValue));
    return true;
  }

  #routeOf(context: ExecutionContext): Route {
    const owner = context.getClass();
    const handler = context.getHandler();
    let routes = this.#routes.get(owner);
    if (routes === undefined) this.#routes.set(owner, (routes = new WeakMap()));
    let route = routes.get(handler);
    if (route === undefined) {
      // At the first request: until then the application may get interceptors.
      const sendsValue = !mayChangeBody(this.config, owner, handler);
      routes.set(handler, (route = { plan: this.#findPlan(owner.prototype as object, handler), sendsValue }));
    }
    return route;
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
