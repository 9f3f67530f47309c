import { z } from 'zod';
import type { Duration } from '../core/duration.js';
import { InvalidOptionsError } from '../core/errors.js';
import { durationSchema, parseOptions } from '../core/options.js';

/**
 * What to do when Redis cannot decide within `deadline`: count in this process (`'local'`), let the call pass (`'open'`), or
 * refuse it as unavailable (`'closed'`: `RateLimitUnavailableError`, HTTP 503).
 */
export type OnStoreError = 'local' | 'open' | 'closed';

export type RateLimitAlgorithm = 'fixed-window' | 'sliding-window';

/** What a `by` function gets on a request handler: the members of Nest's `ExecutionContext` that it needs most. */
export interface RequestContext {
  getType<Type extends string = string>(): Type;
  getArgs<Args extends unknown[] = unknown[]>(): Args;
  // Nest's own type of it, and handlers are compared only by identity.
  // oxlint-disable-next-line typescript/no-unsafe-function-type
  getHandler(): Function;
  switchToHttp(): { getRequest<Request = unknown>(): Request; getResponse<Response = unknown>(): Response };
}

/** Names the subject of a request. The parameter may be declared as Nest's `ExecutionContext`. */
export type SubjectFunction = { by(context: RequestContext): string | Promise<string> }['by'];

/**
 * Who is counted on a request handler: the client's address, the user of the request, or what the function returns (never
 * empty: requests whose subject cannot be told are errors and share no count).
 */
export type SubjectSource = 'ip' | 'user' | SubjectFunction;

/** A limit: at most `limit` units in `window` for each subject. */
export interface Policy {
  /**
   * `'sliding-window'` (default): never more than `limit` in any window, wherever it begins. `'fixed-window'`: cheaper, but up
   * to twice the limit on both sides of an edge; for quotas of a day or month.
   */
  algorithm?: RateLimitAlgorithm;
  /** Units in a window. An integer from 1. */
  limit: number;
  /** Length of the window, from `'1ms'` (`'sliding-window'`: one millisecond for each of its `buckets`). */
  window: Duration;
  /** Units of one call. An integer from 0 (free) to `limit`. Default 1. */
  cost?: number;
  /** Who is counted, on request handlers. Default `'ip'`. */
  by?: SubjectSource;
  /** Sub-windows of a `'sliding-window'`: more follow the exact limit closer and take more memory. 2 to 100, default 10. */
  buckets?: number;
  /** When a `'fixed-window'` begins: with the first call (`'first'`, default), or on the clock in UTC (`'clock'`: midnight for `'1d'`). */
  align?: 'first' | 'clock';
  /** Default: that of the module. */
  onStoreError?: OnStoreError;
}

/** A policy that has its name with it. Made by {@link definePolicy}. */
export interface DefinedPolicy extends Policy {
  readonly name: string;
}

/** A policy with its defaults; times in milliseconds. */
export interface ResolvedPolicy {
  readonly name: string;
  readonly algorithm: RateLimitAlgorithm;
  readonly limit: number;
  readonly window: number;
  readonly cost: number;
  readonly by: SubjectSource;
  readonly buckets: number;
  readonly align: 'first' | 'clock';
  readonly onStoreError: OnStoreError | undefined;
}

const limitRule = 'must be an integer from 1 to 1e12';
const costRule = 'must be an integer from 0';
const bucketsRule = 'must be an integer from 2 to 100';
const byRule = "must be 'ip', 'user' or a function";

export const onStoreErrorSchema = z.enum(['local', 'open', 'closed'], "must be 'local', 'open' or 'closed'");

export const policySchema = z
  .strictObject({
    algorithm: z
      .enum(['fixed-window', 'sliding-window'], "must be 'fixed-window' or 'sliding-window'")
      .prefault('sliding-window'),
    limit: z.int(limitRule).min(1, limitRule).max(1e12, limitRule),
    window: durationSchema({ min: 1 }),
    cost: z.int(costRule).min(0, costRule).prefault(1),
    by: z
      .custom<SubjectSource>((by) => by === 'ip' || by === 'user' || typeof by === 'function', byRule)
      .optional()
      .transform((by): SubjectSource => by ?? 'ip'),
    buckets: z.int(bucketsRule).min(2, bucketsRule).max(100, bucketsRule).optional(),
    align: z.enum(['first', 'clock'], "must be 'first' or 'clock'").optional(),
    onStoreError: onStoreErrorSchema.optional(),
  })
  .superRefine((policy, context) => {
    const issue = (option: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [option], message });
    if (policy.cost > policy.limit) issue('cost', `is above the limit of ${policy.limit}: no call could ever pass`);
    if (policy.algorithm === 'fixed-window') {
      if (policy.buckets !== undefined) issue('buckets', "is an option of 'sliding-window' only");
      return;
    }
    if (policy.align !== undefined) issue('align', "is an option of 'fixed-window' only");
    const buckets = policy.buckets ?? 10;
    if (policy.window < buckets) issue('window', `must be at least 1 ms for each of the ${buckets} buckets`);
  })
  .transform((policy) => ({
    ...policy,
    buckets: policy.buckets ?? 10,
    align: policy.align ?? 'first',
    onStoreError: policy.onStoreError,
  }));

const NAME = /^[\w.-]{1,64}$/;
export const policyNameRule = "a policy name is 1 to 64 letters, digits, '.', '_' or '-'";

export function isPolicyName(name: unknown): name is string {
  return typeof name === 'string' && NAME.test(name);
}

/**
 * Parses a policy.
 *
 * @throws InvalidOptionsError naming each option
 */
export function resolvePolicy(name: string, raw: Policy, where: string, prefix = ''): ResolvedPolicy {
  return Object.freeze({ name, ...parseOptions(policySchema, raw, where, prefix) });
}

/**
 * Parses a policy that has its name with it.
 *
 * @throws InvalidOptionsError naming each option
 */
export function resolveDefinedPolicy(defined: unknown, where: string): ResolvedPolicy {
  if (typeof defined !== 'object' || defined === null) {
    throw new InvalidOptionsError(where, [{ path: 'policy', message: 'must be the name of a policy, or a policy' }]);
  }
  const { name, ...raw } = defined as DefinedPolicy;
  if (!isPolicyName(name)) {
    const message = `is needed to know what is counted together; use definePolicy(name, …). ${policyNameRule}`;
    throw new InvalidOptionsError(where, [{ path: 'name', message }]);
  }
  return resolvePolicy(name, raw, where);
}

/**
 * Defines a policy as a value, for any file to export: decorators and the service take it wherever they take a name. What
 * has the same name and subject is counted together, in all processes that share the namespace.
 *
 * @param name 1 to 64 letters, digits, `.`, `_` or `-`; part of the keys in Redis
 * @throws InvalidOptionsError naming each option that cannot work
 *
 * @example
 * ```ts
 * export const loginPolicy = definePolicy('login', { limit: 5, window: '15m', onStoreError: 'closed' });
 * ```
 */
export function definePolicy<const Given extends Policy>(name: string, policy: Given): Given & DefinedPolicy {
  const defined = Object.freeze({ ...policy, name });
  resolveDefinedPolicy(defined, `definePolicy('${name}')`);
  return defined;
}
