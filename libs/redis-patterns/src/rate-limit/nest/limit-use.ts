import 'reflect-metadata';
import type { ExecutionContext } from '@nestjs/common';
import type { Policy } from '../policy.js';
import type { PolicyReference } from '../policy-book.js';

/** Metadata of a class or method: its uses of `@RateLimit`, outermost first. */
const USES = Symbol.for('nestjs-redis-patterns:rate-limit');
/** Metadata of a class or method: what `@SkipRateLimit` names. */
const SKIPS = Symbol.for('nestjs-redis-patterns:rate-limit-skip');

/** Who is counted on a request handler: as `SubjectSource` says, with Nest's own type of what the function gets. */
export type HandlerSubject = 'ip' | 'user' | ((context: ExecutionContext) => string | Promise<string>);

/** A policy on request handlers; with a `name` if `definePolicy` made it. */
export type HandlerPolicy = OnHandlers<Policy>;
// One type for both kinds: of two, the compiler could not tell what `by` of a policy in the decorator itself gets.
type OnHandlers<P> = P extends Policy ? Omit<P, 'by'> & { by?: HandlerSubject; readonly name?: string } : never;

/** What `@RateLimit` takes: a name in `rateLimit.policies`, what `definePolicy` made, a policy, or a list of those. */
export type RateLimitPolicies = string | HandlerPolicy | readonly (string | HandlerPolicy)[];

/** Which calls count: all of them, or those that fail. */
export type CountWhen = 'always' | 'failure';

/** Options of `@RateLimit` on request handlers and controllers. */
export interface HandlerLimitOptions {
  /** Who is counted: the client's address, the user of the request, or what the function returns. Default: that of the policy. */
  by?: HandlerSubject;
  /** Units of a call: an integer from 0. Default: the `cost` of the policy. */
  cost?: number | ((context: ExecutionContext) => number | Promise<number>);
  /** Whether a request is not to be counted. */
  skipIf?: (context: ExecutionContext) => boolean | Promise<boolean>;
  /**
   * `'failure'`: only requests that fail count, such as wrong passwords. Every request is charged first, so that many at once do
   * not slip through, and given back when it has ended well: over HTTP with a status below 400, elsewhere without an error. A
   * client that leaves before the answer has failed. Default `'always'`.
   */
  countWhen?: CountWhen;
}

/** Functions of the arguments of a method, for {@link MethodLimitOptions}. */
export type SubjectOfCall = (...args: never[]) => string | Promise<string>;
export type CostOfCall = (...args: never[]) => number | Promise<number>;
export type SkipCall = (...args: never[]) => boolean | Promise<boolean>;

/** Options of `@RateLimit` on other methods. The functions get the arguments of the method. */
export interface MethodLimitOptions<
  By extends SubjectOfCall,
  Cost extends CostOfCall = never,
  Skip extends SkipCall = never,
> {
  /** Who is counted, never empty; `() => 'all'` counts all calls together. */
  by: By;
  /** Units of a call: an integer from 0. Default: the `cost` of the policy. */
  cost?: number | Cost;
  /** Whether a call is not to be counted. */
  skipIf?: Skip;
  /** `'failure'`: a call is charged first, and given back when it ends without an error. Default `'always'`. */
  countWhen?: CountWhen;
}

/** One use of `@RateLimit`; what the functions get depends on where it is. */
export interface LimitUse {
  readonly policies: readonly (PolicyReference | Policy)[];
  readonly by: HandlerSubject | ((...args: never[]) => unknown) | undefined;
  readonly cost: number | ((...args: never[]) => unknown) | undefined;
  readonly skipIf: ((...args: never[]) => unknown) | undefined;
  readonly countWhen: CountWhen | undefined;
}

type Target = object;

/** The uses on a class (inherited ones too) or on a method. */
export function usesOf(target: Target): readonly LimitUse[] {
  return (Reflect.getMetadata(USES, target) ?? []) as readonly LimitUse[];
}

export function addUse(target: Target, use: LimitUse): void {
  Reflect.defineMetadata(USES, [use, ...usesOf(target)], target);
}

/** Names that are skipped on a class or method: `'all'` without a name, `undefined` without the decorator. */
export function skipsOf(target: Target): 'all' | readonly string[] | undefined {
  const names = Reflect.getMetadata(SKIPS, target) as readonly string[] | undefined;
  return names?.length === 0 ? 'all' : names;
}

/** Two on one class or method skip what either of them names. */
export function addSkips(target: Target, names: readonly string[]): void {
  const known = Reflect.getOwnMetadata(SKIPS, target) as readonly string[] | undefined;
  const all = known?.length === 0 || names.length === 0 ? [] : [...(known ?? []), ...names];
  Reflect.defineMetadata(SKIPS, all, target);
}

/** Calls a function of the options, which the types have been checked for where it was given. */
export function ask(fn: (...args: never[]) => unknown, args: readonly unknown[]): unknown {
  return (fn as (...args: readonly unknown[]) => unknown)(...args);
}
