import { z } from 'zod';
import type { Duration } from '../core/duration.js';
import { durationSchema, parseOptions } from '../core/options.js';
import {
  isPolicyName,
  onStoreErrorSchema,
  policyNameRule,
  policySchema,
  type OnStoreError,
  type Policy,
  type ResolvedPolicy,
} from './policy.js';

/** Response headers that tell clients where they stand: the IETF draft's, or the older `X-RateLimit-*`. */
export type RateLimitHeaders = 'draft' | 'legacy';

/** Options of `rateLimit` in `RedisPatternsOptions`. */
export interface RateLimitOptions {
  /** Name of the connection. Default `'default'`. */
  connection?: string;
  /** Policies by name, for `@RateLimit('api')` and `consume('api', …)`. */
  policies?: Record<string, Policy>;
  /** What to do when Redis cannot decide within `deadline`; a policy may say otherwise. Default `'local'`. */
  onStoreError?: OnStoreError;
  /**
   * With `'local'`: the part of each limit that this process grants by itself, above 0 and at most 1. One divided by the number
   * of instances keeps all of them together at the limit, as long as that leaves each at least one unit. Default 1.
   */
  localShare?: number;
  /** Longest time that a decision takes. Default `'100ms'`. */
  deadline?: Duration;
  /** Headers on the responses of limited handlers; `Retry-After` comes with a refusal in any case. Default `['draft']`. */
  headers?: RateLimitHeaders[];
  /** How addresses are counted: IPv6 clients own a whole network, so `v6Prefix` bits (1 to 128, default 64) are looked at. */
  ip?: { v6Prefix?: number };
}

/** Options of the engine, parsed; times in milliseconds. */
export interface ResolvedRateLimitOptions {
  readonly connection?: string | undefined;
  readonly policies: ReadonlyMap<string, ResolvedPolicy>;
  readonly onStoreError: OnStoreError;
  readonly localShare: number;
  readonly deadline: number;
  readonly headers: readonly RateLimitHeaders[];
  readonly ip: { readonly v6Prefix: number };
}

const shareRule = 'must be above 0 and at most 1';
const prefixRule = 'must be an integer from 1 to 128';

const schema = z.strictObject({
  connection: z.string('must be the name of a connection').min(1, 'must be the name of a connection').optional(),
  policies: z.record(z.string().refine(isPolicyName, policyNameRule), policySchema).prefault({}),
  onStoreError: onStoreErrorSchema.prefault('local'),
  localShare: z.number(shareRule).gt(0, shareRule).max(1, shareRule).prefault(1),
  deadline: durationSchema({ min: 1, max: 60_000 }).prefault('100ms'),
  headers: z.array(z.enum(['draft', 'legacy'], "must be 'draft' or 'legacy'")).prefault(['draft']),
  ip: z.strictObject({ v6Prefix: z.int(prefixRule).min(1, prefixRule).max(128, prefixRule).prefault(64) }).prefault({}),
});

/**
 * Parses the options of rate limits and fills in the defaults.
 *
 * @throws InvalidOptionsError naming each option, for example `rateLimit.policies.api.limit`
 */
export function resolveRateLimitOptions(raw: unknown, where: string): ResolvedRateLimitOptions {
  const { policies, ...options } = parseOptions(schema, raw ?? {}, where, 'rateLimit');
  const named = Object.entries(policies).map(([name, policy]) => [name, Object.freeze({ name, ...policy })] as const);
  return Object.freeze({ ...options, policies: new Map(named) });
}
