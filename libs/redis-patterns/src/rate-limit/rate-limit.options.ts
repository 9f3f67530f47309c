import { z } from 'zod';
import type { Duration } from '../core/duration.js';
import { closest, durationSchema, parseOptions } from '../core/options.js';
import { InvalidOptionsError } from '../core/errors.js';
import type { OnStoreError, Policy, ResolvedPolicy } from './policy.js';
import {
  denyStatusSchema,
  isPolicyName,
  onStoreErrorSchema,
  policyNameRule,
  policySchema,
  subjectListSchema,
} from './policy.schema.js';
import { isNetwork, SubjectList } from './subject-list.js';

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
  /**
   * Refusals that this process remembers, to answer them without Redis until room comes back: at most `max` (default 10 000), for
   * at most `maxAge` (default `'1s'`), within which what other processes give back is not seen. `false`: none.
   */
  blockCache?: { max?: number; maxAge?: Duration } | false;
  /** Policies of every request handler of the application: names in `policies`. Default none. */
  global?: string[];
  /** Subjects (`'user:7'`), addresses and networks that no policy counts. Redis is not asked. Default none. */
  allow?: readonly string[];
  /** Subjects, addresses and networks that every policy refuses, without asking Redis. Wins over `allow`. Default none. */
  deny?: readonly string[];
  /** HTTP status of what `deny` refuses. Default 429. */
  denyStatus?: 429 | 403;
  /** How a client's address is told, and counted. */
  ip?: ClientAddressOptions;
}

/** How a client's address is told, and counted. */
export interface ClientAddressOptions {
  /** IPv6 clients own a whole network: so many bits are looked at, 1 to 128. Default 64. */
  v6Prefix?: number;
  /**
   * Addresses and networks of the proxies whose `X-Forwarded-For` is believed. Default none: the address is what the framework
   * says (`trust proxy` of Express, `trustProxy` of Fastify).
   */
  trust?: readonly string[];
}

/** Options of the engine, parsed; times in milliseconds. */
export interface ResolvedRateLimitOptions {
  readonly connection?: string | undefined;
  readonly policies: ReadonlyMap<string, ResolvedPolicy>;
  readonly onStoreError: OnStoreError;
  readonly localShare: number;
  readonly deadline: number;
  readonly headers: readonly RateLimitHeaders[];
  readonly blockCache: { readonly max: number; readonly maxAge: number } | false;
  readonly global: readonly string[];
  readonly allow: SubjectList | undefined;
  readonly deny: SubjectList | undefined;
  readonly denyStatus: 429 | 403;
  readonly ip: { readonly v6Prefix: number; readonly trust: SubjectList | undefined };
}

const shareRule = 'must be above 0 and at most 1';
const prefixRule = 'must be an integer from 1 to 128';
const cacheRule = 'must be an integer from 1 to 1 000 000';
const trustRule = "must be an address or a network, such as '10.0.0.0/8'";

const trustSchema = z
  .array(z.custom<string>(isNetwork, trustRule), 'must be a list of addresses and networks')
  .transform((entries) => (entries.length === 0 ? undefined : new SubjectList(entries)));

const schema = z.strictObject({
  connection: z.string('must be the name of a connection').min(1, 'must be the name of a connection').optional(),
  policies: z.record(z.string().refine(isPolicyName, policyNameRule), policySchema).prefault({}),
  onStoreError: onStoreErrorSchema.prefault('local'),
  localShare: z.number(shareRule).gt(0, shareRule).max(1, shareRule).prefault(1),
  deadline: durationSchema({ min: 1, max: 60_000 }).prefault('100ms'),
  headers: z.array(z.enum(['draft', 'legacy'], "must be 'draft' or 'legacy'")).prefault(['draft']),
  blockCache: z
    .union([
      z.literal(false),
      z.strictObject({
        max: z.int(cacheRule).min(1, cacheRule).max(1e6, cacheRule).prefault(10_000),
        maxAge: durationSchema({ min: 1, max: 60_000 }).prefault('1s'),
      }),
    ])
    .prefault({}),
  global: z.array(z.string('must be the name of a policy'), 'must be a list of names of policies').prefault([]),
  allow: subjectListSchema.optional(),
  deny: subjectListSchema.optional(),
  denyStatus: denyStatusSchema.prefault(429),
  ip: z
    .strictObject({
      v6Prefix: z.int(prefixRule).min(1, prefixRule).max(128, prefixRule).prefault(64),
      trust: trustSchema.optional(),
    })
    .prefault({}),
});

/**
 * Parses the options of rate limits and fills in the defaults.
 *
 * @throws InvalidOptionsError naming each option, for example `rateLimit.policies.api.limit`
 */
export function resolveRateLimitOptions(raw: unknown, where: string): ResolvedRateLimitOptions {
  const { policies, ...options } = parseOptions(schema, raw ?? {}, where, 'rateLimit');
  const named = Object.entries(policies).map(([name, policy]) => [name, Object.freeze({ name, ...policy })] as const);
  checkGlobal(options.global, Object.keys(policies), where);
  const { allow, deny, ip } = options;
  const { v6Prefix, trust } = ip;
  return Object.freeze({ ...options, allow, deny, ip: Object.freeze({ v6Prefix, trust }), policies: new Map(named) });
}

function checkGlobal(names: readonly string[], known: readonly string[], where: string): void {
  const issues = names.flatMap((name, index) => {
    const path = `rateLimit.global[${index}]`;
    if (names.indexOf(name) !== index) return [{ path, message: `'${name}' is listed twice` }];
    if (known.includes(name)) return [];
    const guess = closest(name, known);
    const hint = guess === undefined ? 'add it to rateLimit.policies' : `did you mean '${guess}'?`;
    return [{ path, message: `policy '${name}' is not defined; ${hint}` }];
  });
  if (issues.length > 0) throw new InvalidOptionsError(where, issues);
}
