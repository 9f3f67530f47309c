import { z } from 'zod';
import { InvalidOptionsError } from '../core/errors.js';
import { durationSchema, parseOptions } from '../core/options.js';
import type {
  DefinedPolicy,
  OnStoreError,
  Policy,
  PolicyOverrides,
  RateLimitAlgorithm,
  ResolvedPolicy,
  SubjectSource,
} from './policy.js';
import { checkPolicy, OWN_OPTIONS } from './policy-rules.js';
import { isListEntry, SubjectList, subjectListRule } from './subject-list.js';

const DEFAULT_LEASE = 30_000;
const LONGEST_BLOCK = 86_400_000;

const ALGORITHMS = Object.keys(OWN_OPTIONS) as RateLimitAlgorithm[];
const algorithmRule = `must be ${ALGORITHMS.map((name) => `'${name}'`).join(', ')}`;
const limitRule = 'must be an integer from 1 to 1e12';
const costRule = 'must be an integer from 0';
const bucketsRule = 'must be an integer from 2 to 100';
const byRule = "must be 'ip', 'user' or a function";
const escalateRule = 'must be a number from 1 to 1000';

const units = z.int(limitRule).min(1, limitRule).max(1e12, limitRule);

export const onStoreErrorSchema: z.ZodType<OnStoreError, OnStoreError> = z.enum(
  ['local', 'open', 'closed'],
  "must be 'local', 'open' or 'closed'",
);

export const denyStatusSchema = z.literal([429, 403], 'must be 429 or 403');

export const subjectListSchema = z
  .array(z.custom<string>(isListEntry, subjectListRule), 'must be a list of subjects and networks')
  .transform((entries) => (entries.length === 0 ? undefined : new SubjectList(entries)));

const blockSchema = z
  .strictObject({
    for: durationSchema({ min: 1 }),
    escalate: z.number(escalateRule).min(1, escalateRule).max(1000, escalateRule).prefault(1),
    max: durationSchema({ min: 1 }).optional(),
  })
  .superRefine((block, context) => {
    if (block.max === undefined || block.max >= block.for) return;
    context.addIssue({ code: 'custom', path: ['max'], message: 'must be at least as long as `for`' });
  })
  .transform((block) => ({ ...block, max: block.max ?? Math.max(block.for, LONGEST_BLOCK) }));

/** Of any algorithm: which options belong to which is checked afterwards. */
export const policySchema = z
  .strictObject({
    algorithm: z.enum(ALGORITHMS, algorithmRule).prefault('sliding-window'),
    limit: units,
    window: durationSchema({ min: 1 }).optional(),
    burst: units.optional(),
    cost: z.int(costRule).min(0, costRule).prefault(1),
    by: z
      .custom<SubjectSource>((by) => by === 'ip' || by === 'user' || typeof by === 'function', byRule)
      .optional()
      .transform((by): SubjectSource => by ?? 'ip'),
    buckets: z.int(bucketsRule).min(2, bucketsRule).max(100, bucketsRule).optional(),
    align: z.enum(['first', 'clock'], "must be 'first' or 'clock'").optional(),
    lease: durationSchema({ min: 100 }).optional(),
    onStoreError: onStoreErrorSchema.optional(),
    block: blockSchema.optional(),
    shadow: z.boolean('must be true or false').prefault(false),
    resolve: z
      .custom<NonNullable<Policy['resolve']>>((resolve) => typeof resolve === 'function', 'must be a function')
      .optional(),
    allow: subjectListSchema.optional(),
    deny: subjectListSchema.optional(),
    denyStatus: denyStatusSchema.optional(),
  })
  .superRefine((policy, context) => {
    for (const [option, message] of checkPolicy(policy)) {
      context.addIssue({ code: 'custom', path: [option], message });
    }
  })
  .transform(({ lease, ...policy }): Omit<ResolvedPolicy, 'name'> => ({
    ...policy,
    window: policy.window ?? lease ?? DEFAULT_LEASE,
    burst: policy.burst ?? policy.limit,
    buckets: policy.buckets ?? 10,
    align: policy.align ?? 'first',
    onStoreError: policy.onStoreError,
    block: policy.block,
    resolve: policy.resolve,
    allow: policy.allow,
    deny: policy.deny,
    denyStatus: policy.denyStatus,
  }));

const overridesSchema = z.strictObject({
  limit: units.optional(),
  window: durationSchema({ min: 1 }).optional(),
  burst: units.optional(),
});

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
  return resolvePolicy(name, raw as Policy, where);
}

/**
 * A policy with what its `resolve` says for one subject.
 *
 * @throws InvalidOptionsError naming each value that cannot work
 */
export function overridePolicy(policy: ResolvedPolicy, raw: PolicyOverrides): ResolvedPolicy {
  const where = `resolve of rate limit policy '${policy.name}'`;
  const given = parseOptions(overridesSchema, raw, where);
  const { limit = policy.limit, window = policy.window } = given;
  const ownBurst = policy.burst === policy.limit ? limit : policy.burst;
  const burst = policy.algorithm === 'token-bucket' ? (given.burst ?? ownBurst) : limit;
  const merged = { ...policy, limit, window, burst };
  // What the policy leaves to defaults is not wrong for an algorithm that does not know it.
  const rules = { algorithm: policy.algorithm, limit, window, buckets: undefined, burst: given.burst, cost: 0 };
  const issues = checkPolicy(rules).filter(([option]) => !(option === 'window' && policy.algorithm === 'concurrency'));
  if (issues.length > 0) {
    throw new InvalidOptionsError(
      where,
      issues.map(([path, message]) => ({ path, message })),
    );
  }
  return Object.freeze(merged);
}
