import { InvalidOptionsError } from '../../core/errors.js';
import type { ResolvedPolicy, SubjectSource } from '../policy.js';
import type { PolicyBook } from '../policy-book.js';
import { checkDistinct } from '../charges.js';
import { checkUse } from './check-use.js';
import { skipsOf, usesOf, type LimitUse } from './limit-use.js';

/** A policy on a handler, and the decorator that set it. */
export interface PlannedCharge {
  readonly policy: ResolvedPolicy;
  readonly use: LimitUse;
}

/** What a request of one handler is charged for. */
export interface HandlerPlan {
  /** `Class.method`, for messages. */
  readonly name: string;
  readonly by: SubjectSource;
  readonly charges: readonly PlannedCharge[];
}

interface Named {
  readonly name: string;
}

/**
 * Puts together the policies of a handler and of its class; the handler's own come first, and win.
 *
 * @throws InvalidOptionsError naming the class or method
 */
export function planHandler(book: PolicyBook, owner: Named, handler: Named): HandlerPlan {
  const className = owner.name || 'AnonymousClass';
  const name = `${className}.${handler.name}`;
  const site = (owner as { prototype?: object }).prototype ?? owner;
  const own = resolveUses(book, usesOf(handler), name, site);
  const skips = [skipsOf(handler), skipsOf(owner)];
  const ofClass = resolveUses(book, usesOf(owner), className, site).filter(
    ({ policy }) =>
      !skips.some((names) => names === 'all' || names?.includes(policy.name)) &&
      !own.some((charge) => charge.policy.name === policy.name),
  );
  const charges = [...own, ...ofClass];
  return { name, charges, by: commonSubject(charges, name) };
}

function resolveUses(book: PolicyBook, uses: readonly LimitUse[], place: string, site: object): PlannedCharge[] {
  const where = `${place} with @RateLimit`;
  const charges = uses.flatMap((use) => {
    checkUse(use, where, true);
    return use.policies.map((given): PlannedCharge => ({ policy: book.declare(given, place, where, site), use }));
  });
  if (charges.length > 0) {
    checkDistinct(
      charges.map(({ policy }) => policy),
      where,
    );
  }
  return charges;
}

/** All policies of a call are decided in one script, hence about one subject. */
function commonSubject(charges: readonly PlannedCharge[], name: string): SubjectSource {
  const byOf = ({ policy, use }: PlannedCharge): SubjectSource => (use.by as SubjectSource | undefined) ?? policy.by;
  const first = charges[0];
  if (first === undefined) return 'ip';
  const by = byOf(first);
  const other = charges.find((charge) => byOf(charge) !== by);
  if (other === undefined) return by;
  const message =
    `'${first.policy.name}' counts ${describe(by)}, '${other.policy.name}' counts ${describe(byOf(other))}; the policies of a ` +
    "handler must count the same subject, so give them the same 'by'";
  throw new InvalidOptionsError(`${name} with @RateLimit`, [{ path: 'by', message }]);
}

function describe(by: SubjectSource): string {
  return typeof by === 'function' ? `by the function ${by.name || 'given'}` : `by '${by}'`;
}
