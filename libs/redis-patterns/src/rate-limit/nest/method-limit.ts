import { InvalidOptionsError } from '../../core/errors.js';
import type { Around, CallSite, MethodPattern } from '../../nest/method-decorator/index.js';
import { RateLimitExceededError } from '../rate-limit.errors.js';
import { checkCost, checkDistinct, type Charge } from '../charges.js';
import { RateLimitService } from '../rate-limit.service.js';
import { checkUse } from './check-use.js';
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
    if (!site.handlesRequests) return limitCalls(use, service, site, where);
    const { constructor } = site.target;
    planHandler(service.policies, constructor, methodOf(site));
    return (call) => call.proceed();
  },
};

function limitCalls(use: LimitUse, service: RateLimitService, site: CallSite, where: string): Around {
  checkUse(use, where, false);
  const by = use.by as (...args: never[]) => unknown;
  const policies = use.policies.map((given) => service.policies.declare(given, site.name, where, site.target));
  checkDistinct(policies, where);
  return async (call) => {
    const { args } = call;
    if (use.skipIf !== undefined && (await ask(use.skipIf, args)) === true) return call.proceed();
    const given = typeof use.cost === 'function' ? checkCost(await ask(use.cost, args), where) : use.cost;
    const charges = policies.map((policy): Charge => ({ policy, cost: given ?? policy.cost }));
    const subject = checkSubject(await ask(by, args), where);
    const result = await service.decide(charges, subject, call.signal);
    if (!result.allowed) throw new RateLimitExceededError(result);
    return call.proceed();
  };
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
