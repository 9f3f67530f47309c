import { InvalidOptionsError } from '../../core/errors.js';
import type { Around, CallSite, DecoratedCall, MethodPattern } from '../../nest/method-decorator/index.js';
import { RateLimitExceededError } from '../rate-limit.errors.js';
import { checkCost, checkDistinct, type Charge } from '../charges.js';
import { RateLimitService } from '../rate-limit.service.js';
import { checkFit, checkNames, checkUse } from './check-use.js';
import { planHandler } from './handler-plan.js';
import { ask, usesOf, type LimitUse } from './limit-use.js';
import { checkSubject } from './request-subject.js';

/** `@RateLimit` on methods. Request handlers are only checked here: there the guard does the work. */
export const methodLimit: MethodPattern<LimitUse> = {
  decorator: '@RateLimit',
  observable: 'stream',
  leavesHandlers: true,
  bind(use, runtime, site): Around {
    const where = `${site.name} with ${site.decorator}`;
    const service = runtime.engine(RateLimitService);
    checkMetadata(use, site, where);
    // Nobody but an override calls it, which has the limits of its own decorators; calls that are no requests do not count.
    if (site.overriddenHandler) return (call) => call.proceed();
    if (!site.handlesRequests) return limitCalls(use, service, site, where);
    const { constructor } = site.target;
    planHandler(service, constructor, methodOf(site));
    return (call) => call.proceed();
  },
};

function limitCalls(use: LimitUse, service: RateLimitService, site: CallSite, where: string): Around {
  checkUse(use, where, false);
  checkNames([use], where);
  const by = use.by as (...args: never[]) => unknown;
  const policies = use.policies.map((given) => service.policies.declare(given, site.name, where, site.target));
  checkDistinct(policies, where);
  checkFit(use, policies, where);
  const leased = policies.some(({ algorithm }) => algorithm === 'concurrency');
  const refunds = use.countWhen === 'failure';
  return async (call) => {
    const { args, signal } = call;
    if (use.skipIf !== undefined && (await ask(use.skipIf, args)) === true) return call.proceed();
    const given = typeof use.cost === 'function' ? checkCost(await ask(use.cost, args), where) : use.cost;
    const subject = checkSubject(await ask(by, args), where);
    const charges = policies.map((policy): Charge => ({ policy, cost: given ?? policy.cost, subject }));
    const options = { args, ...(signal === undefined ? undefined : { signal }) };
    if (leased) return leaseCall(call, await service.hold(charges, options));
    const result = await service.decide(charges, options);
    if (!result.allowed) throw new RateLimitExceededError(result);
    const value = await call.proceed();
    // Waited for, so that who calls again after a success finds the unit there.
    if (refunds) await service.refundCharges(charges, result);
    return value;
  };
}

async function leaseCall(call: DecoratedCall, { result, lease }: Awaited<ReturnType<RateLimitService['hold']>>) {
  if (!result.allowed) throw new RateLimitExceededError(result);
  try {
    return await call.proceed();
  } finally {
    await lease?.release();
  }
}

/** A decorator above that replaces the method and copies no metadata would leave a handler without its guard. */
function checkMetadata(use: LimitUse, site: CallSite, where: string): void {
  // A method that the class overrides is reached by super only, and needs no metadata.
  if (site.name.includes('@')) return;
  const uses = usesOf(methodOf(site));
  if (site.handlesRequests && !uses.includes(use)) {
    const message =
      'its guard is lost, as a decorator above has replaced the method; write @RateLimit above that decorator';
    throw new InvalidOptionsError(where, [{ path: '', message }]);
  }
  if (!site.handlesRequests && uses.length > 1) {
    const message = 'is there twice; list the policies in one, so that a call takes from all or none';
    throw new InvalidOptionsError(where, [{ path: '', message }]);
  }
}

function methodOf({ target, propertyKey }: CallSite): () => unknown {
  return (target as Record<string | symbol, () => unknown>)[propertyKey]!;
}
