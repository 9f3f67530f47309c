import { InvalidOptionsError } from '../../core/errors.js';
import { requestKind, type RequestKind } from '../../nest/method-decorator/index.js';
import type { ResolvedPolicy, SubjectSource } from '../policy.js';
import type { RateLimitService } from '../rate-limit.service.js';
import { checkDistinct } from '../charges.js';
import { checkFit, checkNames, checkUse } from './check-use.js';
import { skipsOf, usesOf, type LimitUse } from './limit-use.js';

/** A policy on a handler. */
export interface PlannedCharge {
  readonly policy: ResolvedPolicy;
  readonly by: SubjectSource;
  /** The decorator that set it; `undefined` for a policy of every handler. */
  readonly use: LimitUse | undefined;
}

/** What a request of one handler is charged for. */
export interface HandlerPlan {
  /** `Class.method`, for messages. */
  readonly name: string;
  readonly charges: readonly PlannedCharge[];
  /** Whether some are given back after a success. */
  readonly refunds: boolean;
  /** Policies that grant leases. */
  readonly leased: ReadonlySet<string>;
  /** Whether there are lists that look at the client's address. */
  readonly lists: boolean;
}

interface Named {
  readonly name: string;
}

/**
 * Puts together the policies of a handler, of its class and of the application. The handler's own come first, and win.
 *
 * @throws InvalidOptionsError naming the class or method
 */
export function planHandler(service: RateLimitService, owner: Named, handler: Named): HandlerPlan {
  const className = owner.name || 'AnonymousClass';
  const name = `${className}.${handler.name}`;
  const site = (owner as { prototype?: object }).prototype ?? owner;
  const kind = requestKind(handler);
  // Guards run for other methods as well (stream consumers): there the decorator wraps the call.
  if (kind === undefined) return { name, charges: [], refunds: false, leased: new Set(), lists: false };
  const skips = [skipsOf(handler), skipsOf(owner)];
  const charges = resolveUses(service, usesOf(handler), name, site);
  const add = (more: readonly PlannedCharge[]): void => {
    for (const charge of more) {
      const skipped = skips.some((names) => names === 'all' || names?.includes(charge.policy.name));
      if (!skipped && !charges.some(({ policy }) => policy.name === charge.policy.name)) charges.push(charge);
    }
  };
  add(resolveUses(service, usesOf(owner), className, site));
  add(globalCharges(service, kind));
  checkLeases(charges, kind, name);
  checkSubjects(charges, kind, name);
  const { allow, deny } = service.options;
  return {
    name,
    charges,
    refunds: charges.some(({ use }) => use?.countWhen === 'failure'),
    leased: new Set(charges.filter(({ policy }) => isLeased(policy)).map(({ policy }) => policy.name)),
    lists: [{ allow, deny }, ...charges.map(({ policy }) => policy)].some((each) => each.allow ?? each.deny),
  };
}

/** Policies of every handler, as far as it can be told who is counted: messages have no address and no user. */
function globalCharges(service: RateLimitService, kind: RequestKind): PlannedCharge[] {
  return service.options.global
    .map((name) => service.policies.find(name, 'rateLimit.global'))
    .filter((policy) => kind !== 'message' || typeof policy.by === 'function')
    .filter((policy) => kind === 'http' || !isLeased(policy))
    .map((policy) => ({ policy, by: policy.by, use: undefined }));
}

function resolveUses(service: RateLimitService, uses: readonly LimitUse[], place: string, site: object) {
  const where = `${place} with @RateLimit`;
  checkNames(uses, where);
  const charges = uses.flatMap((use) => {
    checkUse(use, where, true);
    const policies = use.policies.map((given) => service.policies.declare(given, place, where, site));
    checkFit(use, policies, where);
    return policies.map((policy): PlannedCharge => {
      const by = (use.by as SubjectSource | undefined) ?? policy.by;
      return { policy, by, use };
    });
  });
  if (charges.length > 0) {
    checkDistinct(
      charges.map(({ policy }) => policy),
      where,
    );
  }
  return charges;
}

/** A lease is released when the response ends: elsewhere nothing says for sure that a handler that was let in has ended. */
function checkLeases(charges: readonly PlannedCharge[], kind: RequestKind, name: string): void {
  const leased = charges.find(({ policy }) => isLeased(policy));
  if (leased === undefined || kind === 'http') return;
  const message =
    "is a 'concurrency' policy, which works on HTTP handlers and on methods that handle no requests; in this handler use " +
    'RateLimitService.acquire() and release the lease in `finally`, and leave the policy out with @SkipRateLimit if it is of the class';
  throw new InvalidOptionsError(`${name} with @RateLimit`, [{ path: `policy '${leased.policy.name}'`, message }]);
}

/** Every message would be an error. */
function checkSubjects(charges: readonly PlannedCharge[], kind: RequestKind, name: string): void {
  if (kind !== 'message') return;
  const issues = charges
    .filter(({ by }) => typeof by !== 'function')
    .map(({ by, policy }) => ({
      path: `policy '${policy.name}'`,
      message:
        `counts by '${String(by)}', but a message has no address and no user; give 'by' as a function of the execution context, or ` +
        'leave the policy out with @SkipRateLimit if it is of the class',
    }));
  if (issues.length > 0) throw new InvalidOptionsError(`${name} with @RateLimit`, issues);
}

function isLeased({ algorithm }: ResolvedPolicy): boolean {
  return algorithm === 'concurrency';
}
