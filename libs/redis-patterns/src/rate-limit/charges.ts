import { InvalidOptionsError } from '../core/errors.js';
import type { ResolvedPolicy } from './policy.js';

/** Units to take from one policy, for one subject. */
export interface Charge {
  readonly policy: ResolvedPolicy;
  readonly cost: number;
  /** Who is counted, such as `user:42`. */
  readonly subject: string;
}

/** @throws InvalidOptionsError when there is no policy, or one twice */
export function checkDistinct(policies: readonly ResolvedPolicy[], where: string): void {
  if (policies.length === 0) throw new InvalidOptionsError(where, [{ path: 'policies', message: 'name at least one' }]);
  if (policies.length === 1) return;
  const names = policies.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return;
  const message = 'is listed twice; to take more units of it, give a cost';
  throw new InvalidOptionsError(where, [{ path: `policy '${twice}'`, message }]);
}

/** @throws InvalidOptionsError */
export function checkCost(cost: unknown, where: string): number {
  if (Number.isSafeInteger(cost) && (cost as number) >= 0) return cost as number;
  throw new InvalidOptionsError(where, [{ path: 'cost', message: 'must be an integer from 0' }]);
}
