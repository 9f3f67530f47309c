import { InvalidOptionsError, type OptionIssue } from '../../core/errors.js';
import { unknownOption } from '../call-options.js';
import type { ResolvedPolicy } from '../policy.js';
import type { LimitUse } from './limit-use.js';

const OPTIONS = ['by', 'cost', 'skipIf', 'countWhen'] as const;

/**
 * Checks what the types leave open, and what plain JavaScript can give.
 *
 * @param handler whether it is on a request handler, where `by` may be left to the policy
 * @throws InvalidOptionsError
 */
export function checkUse(use: LimitUse, where: string, handler: boolean): void {
  const issues: OptionIssue[] = [];
  if (use.policies.length === 0) issues.push({ path: 'policies', message: 'name at least one' });
  for (const option of Object.keys(use)) {
    if (option === 'policies' || (OPTIONS as readonly string[]).includes(option)) continue;
    issues.push({ path: option, message: unknownOption(option, OPTIONS) });
  }
  if (typeof use.cost !== 'function' && use.cost !== undefined && !(Number.isSafeInteger(use.cost) && use.cost >= 0)) {
    issues.push({ path: 'cost', message: 'must be an integer from 0, or a function' });
  }
  if (use.skipIf !== undefined && typeof use.skipIf !== 'function') {
    issues.push({ path: 'skipIf', message: 'must be a function' });
  }
  if (use.countWhen !== undefined && !['always', 'failure'].includes(use.countWhen)) {
    issues.push({ path: 'countWhen', message: "must be 'always' or 'failure'" });
  }
  const byMessage = handler ? checkHandlerBy(use.by) : checkMethodBy(use.by);
  if (byMessage !== undefined) issues.push({ path: 'by', message: byMessage });
  if (issues.length > 0) throw new InvalidOptionsError(where, issues);
}

/**
 * Checks what does not fit the policies: leases are not charges, and nobody could ever pay a cost above the limit.
 *
 * @throws InvalidOptionsError
 */
export function checkFit({ cost, countWhen }: LimitUse, policies: readonly ResolvedPolicy[], where: string): void {
  const isTooMuch = ({ burst, resolve, shadow }: ResolvedPolicy): boolean =>
    typeof cost === 'number' && cost > burst && resolve === undefined && !shadow;
  const exceeded = policies.find(isTooMuch);
  if (exceeded !== undefined) {
    const message = `is above the ${exceeded.burst} of '${exceeded.name}': no call could ever pass`;
    throw new InvalidOptionsError(where, [{ path: 'cost', message }]);
  }
  if (countWhen !== 'failure') return;
  const leased = policies.find(({ algorithm }) => algorithm === 'concurrency');
  if (leased === undefined) return;
  const message = `does not go with '${leased.name}': its leases are given back in any case; list it in another @RateLimit`;
  throw new InvalidOptionsError(where, [{ path: 'countWhen', message }]);
}

/**
 * A policy that is written in place has the name of the place: so there can be one.
 *
 * @param uses all on one class or method
 * @throws InvalidOptionsError
 */
export function checkNames(uses: readonly LimitUse[], where: string): void {
  const nameless = uses
    .flatMap(({ policies }) => policies)
    .filter((policy) => typeof policy === 'object' && policy !== null && !('name' in policy));
  if (nameless.length < 2) return;
  const message = "only one can be without a name; name the others with definePolicy('…', …) or in rateLimit.policies";
  throw new InvalidOptionsError(where, [{ path: 'policies', message }]);
}

function checkHandlerBy(by: unknown): string | undefined {
  const fits = by === undefined || by === 'ip' || by === 'user' || typeof by === 'function';
  return fits ? undefined : "must be 'ip', 'user' or a function of the execution context";
}

function checkMethodBy(by: unknown): string | undefined {
  if (typeof by === 'function') return undefined;
  return (
    'must be a function of the arguments, as this method handles no requests and knows no client: say who is counted, ' +
    "such as (userId: string) => userId, or count all calls together with () => 'all'"
  );
}
