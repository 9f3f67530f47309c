import type { RateLimitAlgorithm } from './policy.js';

/** Options that belong to some algorithms only. */
export const OWN_OPTIONS: Readonly<Record<RateLimitAlgorithm, readonly string[]>> = {
  'sliding-window': ['window', 'block', 'buckets'],
  'fixed-window': ['window', 'block', 'align'],
  'sliding-log': ['window', 'block'],
  'token-bucket': ['window', 'block', 'burst'],
  concurrency: ['lease'],
};

/** What is remembered unit by unit. */
const MOST_REMEMBERED = 10_000;
/** Times in Redis are whole microseconds. */
const MOST_PER_MS = 1_000;
/** Longest time in which a bucket fills, milliseconds: microseconds beyond could not be counted exactly. */
const LONGEST_FILL = 1e12;

interface Given {
  readonly algorithm: RateLimitAlgorithm;
  readonly limit: number;
  readonly window?: number | undefined;
  readonly burst?: number | undefined;
  readonly buckets?: number | undefined;
  readonly cost: number;
}

/** What cannot work, as pairs of option and message: options of other algorithms, and values that do not fit together. */
export function checkPolicy(policy: Given): [option: string, message: string][] {
  const { algorithm, limit, window, burst, cost } = policy;
  const issues = foreignOptions(policy);
  const capacity = burst ?? limit;
  if (cost > capacity) {
    issues.push([
      'cost',
      `is above the ${burst === undefined ? 'limit' : 'burst'} of ${capacity}: no call could ever pass`,
    ]);
  }
  const remembers = algorithm === 'sliding-log' || algorithm === 'concurrency';
  if (remembers && limit > MOST_REMEMBERED) {
    issues.push(['limit', `must be at most ${MOST_REMEMBERED} with '${algorithm}', which remembers each unit`]);
  }
  if (algorithm === 'concurrency') return issues;
  if (window === undefined) return [...issues, ['window', "is required; give a duration such as '1m'"]];
  const buckets = policy.buckets ?? 10;
  if (algorithm === 'sliding-window' && window < buckets) {
    issues.push(['window', `must be at least 1 ms for each of the ${buckets} buckets`]);
  }
  if (algorithm === 'token-bucket' && limit > window * MOST_PER_MS) {
    issues.push(['limit', "must be at most 1 000 000 units a second with 'token-bucket'"]);
  }
  if (algorithm === 'token-bucket' && (capacity * window) / limit > LONGEST_FILL) {
    issues.push(['burst', 'takes more than 30 years to fill']);
  }
  return issues;
}

function foreignOptions(policy: Given): [option: string, message: string][] {
  const own = OWN_OPTIONS[policy.algorithm];
  const others = new Set(Object.values(OWN_OPTIONS).flat());
  return [...others]
    .filter((option) => !own.includes(option) && (policy as unknown as Record<string, unknown>)[option] !== undefined)
    .map((option) => {
      const owners = Object.entries(OWN_OPTIONS).filter(([, options]) => options.includes(option));
      const names = owners.length === 4 ? "all algorithms but 'concurrency'" : `'${owners[0]![0]}' only`;
      return [option, `is an option of ${names}`];
    });
}
