import { Inject, Injectable, Optional, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { NotBoundError } from '../../core/errors.js';
import { PATTERNS_RUNTIME, PatternsRuntime } from '../../nest/method-decorator/index.js';
import { RateLimitExceededError, RateLimitUnavailableError } from '../rate-limit.errors.js';
import { RateLimitService } from '../rate-limit.service.js';
import { chargeRequest, type HandlerDecision } from './handler-charges.js';
import { planHandler, type HandlerPlan, type PlannedCharge } from './handler-plan.js';
import { usesOf } from './limit-use.js';
import { messageException } from './message-exceptions.js';
import { LimitHeaders, retryAfterHeader } from './rate-limit-headers.js';
import { RateLimitHttpException } from './rate-limit-http.exception.js';
import { graphqlResponse, identityOf } from './client-request.js';
import { onResponseEnd } from './response-end.js';

type Headers = readonly (readonly [name: string, value: string])[];

interface GraphQLResponse {
  readonly headersSent?: boolean;
  /** Of Node, hence of Express. */
  setHeader?(name: string, value: string): unknown;
  /** Of Fastify. */
  header?(name: string, value: string): unknown;
}

/**
 * Enforces limits on request handlers: those of `@RateLimit`, which puts it in place by itself, and the `global` policies of the
 * module, for which the module registers it. A request is charged once, at one guard: that of the handler if it has limits of
 * its own, else that of its class, so that guards below that one have run; else the global one.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  readonly #plans = new WeakMap<object, WeakMap<object, HandlerPlan>>();
  readonly #headers = new LimitHeaders();

  constructor(
    @Optional() @Inject(PATTERNS_RUNTIME) private readonly runtime: PatternsRuntime | undefined,
    @Optional() @Inject(HttpAdapterHost) private readonly adapterHost: HttpAdapterHost | undefined,
  ) {}

  /**
   * @throws RateLimitHttpException with 429 above the limit, with 503 when a closed policy cannot be decided; for a message of a
   * gateway or microservice the `WsException` or `RpcException` that says so, elsewhere the plain error
   * @throws RateLimitSubjectError when it cannot be told who is counted
   * @throws NotBoundError where RedisPatternsModule is not imported
   */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.leavesTo(context.getHandler(), context.getClass())) return true;
    const service = this.#service(context);
    const plan = this.#planOf(context, service);
    if (plan.charges.length === 0) return true;
    try {
      await this.#check(plan, context, service);
    } catch (error) {
      throw await this.#asAnswer(error, context);
    }
    return true;
  }

  /** Whether a guard comes later on the class or on the handler itself. @internal */
  protected leavesTo(handler: object, owner: object): boolean {
    return usesOf(handler).length > 0 || usesOf(owner).length > 0;
  }

  async #check(plan: HandlerPlan, context: ExecutionContext, service: RateLimitService): Promise<void> {
    const request = service.ledger.of(identityOf(context));
    if (plan.refunds && context.getType() !== 'http') request.begin(context.getArgs());
    const { decisions } = request;
    // What other guards have charged this request for is not charged again.
    const due = plan.charges.filter(({ policy }) => !decisions.has(policy.name));
    if (due.length > 0) {
      const decision = this.#decide(plan, due, context, service);
      for (const { policy } of due) decisions.set(policy.name, decision);
    }
    for (const { policy } of plan.charges) {
      const decided = await decisions.get(policy.name);
      if (decided?.result.allowed === false) throw new RateLimitExceededError(decided.result);
    }
  }

  async #decide(
    plan: HandlerPlan,
    due: readonly PlannedCharge[],
    context: ExecutionContext,
    service: RateLimitService,
  ): Promise<HandlerDecision | undefined> {
    const decided = await chargeRequest(plan, due, context, service);
    if (decided === undefined) return undefined;
    const { result, lease, refundable } = decided;
    // At once: nothing that might fail comes between a lease and its release.
    if (lease !== null) onResponseEnd(context, () => void lease.release());
    if (result.allowed && refundable.length > 0) {
      const refund = (): void => void service.refundCharges(refundable, result);
      if (context.getType() === 'http') {
        onResponseEnd(context, (status) => status !== undefined && status < 400 && refund());
      } else {
        const names = due.map(({ policy }) => policy.name);
        service.ledger.of(identityOf(context)).refundOnSuccess(names, refund);
      }
    }
    this.#setHeaders(context, this.#headers.of(service.options.headers, result));
    return decided;
  }

  async #asAnswer(error: unknown, context: ExecutionContext): Promise<unknown> {
    if (!(error instanceof RateLimitExceededError || error instanceof RateLimitUnavailableError)) return error;
    this.#setHeaders(context, retryAfterHeader(error.retryAfter));
    const type = context.getType<string>();
    if (type === 'http' || type === 'graphql') return new RateLimitHttpException(error);
    return type === 'ws' || type === 'rpc' ? messageException(error, type) : error;
  }

  #setHeaders(context: ExecutionContext, headers: Headers): void {
    const type = context.getType<string>();
    if (type === 'http') {
      const response = context.switchToHttp().getResponse<unknown>();
      for (const [name, value] of headers) this.adapterHost?.httpAdapter?.setHeader(response, name, value);
    } else if (type === 'graphql') {
      setHeadersOf(graphqlResponse(context), headers);
    }
  }

  #planOf(context: ExecutionContext, service: RateLimitService): HandlerPlan {
    const owner = context.getClass();
    const handler = context.getHandler();
    let plans = this.#plans.get(owner);
    if (plans === undefined) this.#plans.set(owner, (plans = new WeakMap()));
    let plan = plans.get(handler);
    if (plan === undefined) plans.set(handler, (plan = planHandler(service, owner, handler)));
    return plan;
  }

  #service(context: ExecutionContext): RateLimitService {
    if (this.runtime instanceof PatternsRuntime) return this.runtime.engine(RateLimitService);
    throw new NotBoundError(
      `${context.getClass().name}.${context.getHandler().name} with @RateLimit was not run: RedisPatternsModule is not imported ` +
        `in the module of its controller (with isGlobal: false it has to be, in every such module).`,
    );
  }
}

/** The guard that `@RateLimit` puts on a class. */
@Injectable()
export class ClassRateLimitGuard extends RateLimitGuard {
  protected override leavesTo(handler: object): boolean {
    return usesOf(handler).length > 0;
  }
}

/** The guard that `@RateLimit` puts on a handler. */
@Injectable()
export class HandlerRateLimitGuard extends RateLimitGuard {
  protected override leavesTo(): boolean {
    return false;
  }
}

/**
 * The guard of the application, if there are policies for every handler. Nobody has to register it: it is made before the
 * application's handlers are put together.
 */
@Injectable()
export class GlobalRateLimitGuard extends RateLimitGuard {
  constructor(
    @Inject(PATTERNS_RUNTIME) runtime: PatternsRuntime,
    @Optional() @Inject(HttpAdapterHost) adapterHost: HttpAdapterHost | undefined,
    @Inject(ApplicationConfig) config: ApplicationConfig,
    @Inject(RateLimitService) service: RateLimitService,
  ) {
    super(runtime, adapterHost);
    // A test may have put anything in its place.
    if (service instanceof RateLimitService && service.options.global.length > 0) config.addGlobalGuard(this);
  }
}

/** A GraphQL context may hold a response of any framework, also one that has begun to be sent. */
function setHeadersOf(response: GraphQLResponse | undefined, headers: Headers): void {
  const set = response?.setHeader ?? response?.header;
  if (response?.headersSent === true || typeof set !== 'function') return;
  for (const [name, value] of headers) set.call(response, name, value);
}
