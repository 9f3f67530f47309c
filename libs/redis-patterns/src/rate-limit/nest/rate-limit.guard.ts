import { Inject, Injectable, Optional, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { NotBoundError } from '../../core/errors.js';
import { PATTERNS_RUNTIME, PatternsRuntime } from '../../nest/method-decorator/index.js';
import { RateLimitExceededError, RateLimitUnavailableError } from '../rate-limit.errors.js';
import type { RateLimitResult } from '../rate-limit.result.js';
import { checkCost, type Charge } from '../charges.js';
import { RateLimitService } from '../rate-limit.service.js';
import { planHandler, type HandlerPlan, type PlannedCharge } from './handler-plan.js';
import { ask, usesOf, type LimitUse } from './limit-use.js';
import { limitHeaders, retryAfterHeader } from './rate-limit-headers.js';
import { RateLimitHttpException } from './rate-limit-http.exception.js';
import { requestOf, requestSubject } from './request-subject.js';

/**
 * Enforces `@RateLimit` on request handlers. The decorator puts it on the class by itself; registered globally it does the same
 * earlier, and a request is still charged once. A handler with limits of its own decides about all of them at its own guard,
 * so that guards below that one have run.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  readonly #plans = new WeakMap<object, WeakMap<object, HandlerPlan>>();

  constructor(
    @Optional() @Inject(PATTERNS_RUNTIME) private readonly runtime: PatternsRuntime | undefined,
    @Optional() @Inject(HttpAdapterHost) private readonly adapterHost: HttpAdapterHost | undefined,
  ) {}

  /**
   * @throws RateLimitHttpException with 429 above the limit, with 503 when a closed policy cannot be decided (where there is no
   * HTTP: RateLimitExceededError, RateLimitUnavailableError)
   * @throws RateLimitSubjectError when it cannot be told who is counted
   * @throws NotBoundError where RedisPatternsModule is not imported
   */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.leavesTo(context.getHandler())) return true;
    const service = this.#service(context);
    const plan = this.#planOf(context, service);
    if (plan.charges.length === 0) return true;
    try {
      await this.#check(plan, context, service);
    } catch (error) {
      throw this.#asAnswer(error, context);
    }
    return true;
  }

  /** Whether a guard on the handler itself comes later. @internal */
  protected leavesTo(handler: object): boolean {
    return usesOf(handler).length > 0;
  }

  async #check(plan: HandlerPlan, context: ExecutionContext, service: RateLimitService): Promise<void> {
    // What other guards have charged this request for is not charged again. Other messages have no identity but their arguments.
    const decisions = service.ledger.of(requestOf(context) ?? context.getArgs());
    const due = plan.charges.filter(({ policy }) => !decisions.has(policy.name));
    if (due.length > 0) {
      const decision = decide(plan, due, context, service);
      for (const { policy } of due) decisions.set(policy.name, decision);
      const result = await decision;
      if (result !== undefined) this.#setHeaders(context, limitHeaders(service.options.headers, result));
    }
    for (const { policy } of plan.charges) {
      const result = await decisions.get(policy.name);
      if (result?.allowed === false) throw new RateLimitExceededError(result);
    }
  }

  #asAnswer(error: unknown, context: ExecutionContext): unknown {
    if (!(error instanceof RateLimitExceededError || error instanceof RateLimitUnavailableError)) return error;
    if (error instanceof RateLimitUnavailableError) this.#setHeaders(context, retryAfterHeader(error.retryAfter));
    return requestOf(context) === undefined ? error : new RateLimitHttpException(error);
  }

  #setHeaders(context: ExecutionContext, headers: readonly (readonly [string, string])[]): void {
    const adapter = this.adapterHost?.httpAdapter;
    if (adapter === undefined || adapter === null || context.getType() !== 'http') return;
    const response = context.switchToHttp().getResponse<unknown>();
    for (const [name, value] of headers) adapter.setHeader(response, name, value);
  }

  #planOf(context: ExecutionContext, service: RateLimitService): HandlerPlan {
    const owner = context.getClass();
    const handler = context.getHandler();
    let plans = this.#plans.get(owner);
    if (plans === undefined) this.#plans.set(owner, (plans = new WeakMap()));
    let plan = plans.get(handler);
    if (plan === undefined) plans.set(handler, (plan = planHandler(service.policies, owner, handler)));
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

/** The guard that `@RateLimit` puts on a handler. */
@Injectable()
export class HandlerRateLimitGuard extends RateLimitGuard {
  protected override leavesTo(): boolean {
    return false;
  }
}

/** Nothing when all of it is skipped. */
async function decide(
  plan: HandlerPlan,
  due: readonly PlannedCharge[],
  context: ExecutionContext,
  service: RateLimitService,
): Promise<RateLimitResult | undefined> {
  const uses = new Map<LimitUse, { skip: boolean; cost: number | undefined }>();
  const charges: Charge[] = [];
  for (const { policy, use } of due) {
    let answer = uses.get(use);
    if (answer === undefined) uses.set(use, (answer = await evaluate(use, plan.name, context)));
    if (!answer.skip) charges.push({ policy, cost: answer.cost ?? policy.cost });
  }
  if (charges.length === 0) return undefined;
  return service.decide(charges, await requestSubject(plan, context, service));
}

async function evaluate(
  { skipIf, cost }: LimitUse,
  where: string,
  context: ExecutionContext,
): Promise<{ skip: boolean; cost: number | undefined }> {
  if (skipIf !== undefined && (await ask(skipIf, [context])) === true) return { skip: true, cost: undefined };
  if (typeof cost !== 'function') return { skip: false, cost };
  return { skip: false, cost: checkCost(await ask(cost, [context]), `${where} with @RateLimit`) };
}
