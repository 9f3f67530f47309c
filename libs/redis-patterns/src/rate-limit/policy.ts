import type { Duration } from '../core/duration.js';
import { resolveDefinedPolicy } from './policy.schema.js';
import type { SubjectList } from './subject-list.js';

/**
 * What to do when Redis cannot decide within `deadline`: count in this process (`'local'`), let the call pass (`'open'`), or
 * refuse it as unavailable (`'closed'`: `RateLimitUnavailableError`, HTTP 503).
 */
export type OnStoreError = 'local' | 'open' | 'closed';

/** How a policy counts; see the types of policies for what each promises. */
export type RateLimitAlgorithm = Algorithm<Policy>;
type Algorithm<P> = P extends { algorithm?: infer A } ? Exclude<A, undefined> : never;

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

/** What `resolve` is asked about. */
export interface ResolveContext {
  /** Name of the policy. */
  readonly policy: string;
  /** Who is counted, such as `user:42`. */
  readonly subject: string;
  /** On request handlers. */
  readonly request?: RequestContext;
  /** The arguments, on other methods. */
  readonly args?: readonly unknown[];
}

/** What `resolve` may change for one subject: the rest is that of the policy. */
export interface PolicyOverrides {
  limit?: number;
  /** Of a `'concurrency'` policy: its lease. */
  window?: Duration;
  /** Of a `'token-bucket'`. Default: the `burst` that the policy names, else the limit. */
  burst?: number;
}

/** A penalty: who is refused stays refused for a time, even when room comes back earlier. */
export interface BlockOptions {
  /** How long. */
  for: Duration;
  /** What the time is multiplied by for each further refusal, from 1. One counts as further within twice the last block. Default 1. */
  escalate?: number;
  /** Longest block. Default `'1d'`, at least `for`. */
  max?: Duration;
}

interface CommonPolicy {
  /** Units in a window; of a `'concurrency'` policy: leases at a time. An integer from 1. */
  limit: number;
  /** Units of one call. An integer from 0 (free) to what can ever be admitted at once. Default 1. */
  cost?: number;
  /** Who is counted, on request handlers. Default `'ip'`. */
  by?: SubjectSource;
  /** Default: that of the module. */
  onStoreError?: OnStoreError;
  /**
   * Counts and reports (`policies[]` of a result), but refuses nobody: to try a limit out. Counts only what the other policies of
   * the call admit. Default false.
   */
  shadow?: boolean;
  /**
   * Other values for one subject (a tenant's plan), or `null` to leave the policy out of the call. Asked in each call, so keep
   * what it needs in memory; what it throws is thrown to the caller.
   */
  resolve?: (context: ResolveContext) => PolicyOverrides | null | Promise<PolicyOverrides | null>;
  /** Subjects (`'user:7'`), addresses and networks that this policy does not count. Redis is not asked. Default none. */
  allow?: readonly string[];
  /** Subjects, addresses and networks that are refused without asking Redis. Wins over `allow`. Default none. */
  deny?: readonly string[];
  /** HTTP status of what `deny` refuses. Default: that of the module. */
  denyStatus?: 429 | 403;
}

interface WindowedPolicy extends CommonPolicy {
  /** Length of the window, from `'1ms'`. */
  window: Duration;
  /** A penalty after a refusal. Default none. */
  block?: BlockOptions;
}

/** Never more than `limit` in any window, wherever it begins; memory does not grow with the limit. The default. */
export interface SlidingWindowPolicy extends WindowedPolicy {
  algorithm?: 'sliding-window';
  /**
   * Sub-windows: more follow the exact limit closer and take more memory. 2 to 100, default 10. The window has a millisecond for
   * each at least.
   */
  buckets?: number;
}

/** Up to twice the limit on both sides of an edge, and the cheapest: for quotas of a day or month. */
export interface FixedWindowPolicy extends WindowedPolicy {
  algorithm: 'fixed-window';
  /** When a window begins: with the first call (`'first'`, default), or on the clock in UTC (`'clock'`: midnight for `'1d'`). */
  align?: 'first' | 'clock';
}

/** Exactly `limit` in any window; remembers each unit, so the limit is at most 10 000: for few, expensive calls. */
export interface SlidingLogPolicy extends WindowedPolicy {
  algorithm: 'sliding-log';
}

/** A smooth rate of `limit` units in each window, at most 1 000 000 a second, and a burst of its own on top of it. */
export interface TokenBucketPolicy extends WindowedPolicy {
  algorithm: 'token-bucket';
  /** Units that can be taken at once from a full bucket. An integer from 1. Default: the limit. */
  burst?: number;
}

/** At most `limit` leases at a time (at most 10 000), for what is under way: slow reports, load shedding. */
export interface ConcurrencyPolicy extends CommonPolicy {
  algorithm: 'concurrency';
  /** How long a holder that has crashed still counts. Renewed each third of it. From `'100ms'`, default `'30s'`. */
  lease?: Duration;
}

/** A limit for each subject. */
export type Policy = SlidingWindowPolicy | FixedWindowPolicy | SlidingLogPolicy | TokenBucketPolicy | ConcurrencyPolicy;

/** A policy that has its name with it. Made by {@link definePolicy}. */
export type DefinedPolicy = Policy & { readonly name: string };

/** A policy with its defaults; times in milliseconds. */
export interface ResolvedPolicy {
  readonly name: string;
  readonly algorithm: RateLimitAlgorithm;
  readonly limit: number;
  /** Of a `'concurrency'` policy: the lease. */
  readonly window: number;
  /** The most units of one call: the limit, but of a `'token-bucket'` its burst. */
  readonly burst: number;
  readonly cost: number;
  readonly by: SubjectSource;
  readonly buckets: number;
  readonly align: 'first' | 'clock';
  readonly onStoreError: OnStoreError | undefined;
  readonly block: { readonly for: number; readonly escalate: number; readonly max: number } | undefined;
  readonly shadow: boolean;
  readonly resolve: CommonPolicy['resolve'];
  readonly allow: SubjectList | undefined;
  readonly deny: SubjectList | undefined;
  readonly denyStatus: 429 | 403 | undefined;
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
  const defined = Object.freeze({ ...policy, name }) as unknown as Given & DefinedPolicy;
  resolveDefinedPolicy(defined, `definePolicy('${name}')`);
  return defined;
}
