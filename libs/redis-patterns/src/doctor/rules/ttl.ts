import { known, Unknown, type PrefixFacts, type SampledKey, type Snapshot } from '../snapshot.js';
import { DURABLE } from '../prefixes/group-keys.js';
import { largest } from '../largest.js';
import {
  defineRule,
  eachNode,
  eachPrefix,
  examples,
  percent,
  prefixesOf,
  round,
  scopeOf,
  type Outcome,
} from './rule.js';

const DAY = 86_400_000;
/** Classes of which every key has a TTL. */
const ALWAYS = new Set(['lock', 'limiter', 'session', 'idempotency']);

const coverage = defineRule({
  id: 'TTL001',
  name: 'coverage',
  severities: ['warn'],
  measured: 'INFO keyspace: expires / keys, exact',
  when: 'less than {share} of the keys of a database that is used as a cache have a TTL (from {atLeast} keys)',
  why: 'What never expires stays until the memory is full, and is served long after it is wrong.',
  advice: 'Give every cached key a TTL in the command that writes it.',
  limits: { share: 0.5, atLeast: 100 },
  *check(snapshot, { share, atLeast }) {
    if (!usedAsCache(snapshot)) return;
    yield* eachNode(snapshot, function* (node) {
      for (const { db, keys, expires } of known(node.info).databases) {
        if (keys < atLeast || expires >= keys * share) continue;
        yield {
          severity: 'warn',
          scope: { node: node.node, db },
          measured: round(expires / keys),
          threshold: share,
          evidence: `${percent(expires / keys)} of the keys have a TTL`,
        };
      }
    });
  },
});

/** Most of what is known of the keys is a cache of somebody's declaration, not of a guess from the TTLs that are judged. */
function usedAsCache(snapshot: Snapshot): boolean {
  const sizes = prefixesOf(snapshot, 'cache', { guessed: false }).reduce((sum, { members }) => sum + members.length, 0);
  if (sizes > snapshot.sample.keys / 2) return true;
  if (snapshot.sample.gap !== undefined) throw new Unknown(snapshot.sample.gap);
  return false;
}

const noTtl = defineRule({
  id: 'TTL002',
  name: 'no-ttl',
  severities: ['error', 'critical'],
  measured: 'sample: PTTL -1, by prefix',
  when: 'more than {cache} of a cache, or any lock, limit, session or idempotency record, is without TTL',
  why: 'A cache entry without TTL is served for ever. A lock, session or limit without TTL is never released, ended or reset.',
  advice: 'Set the TTL in the same command (SET … PX, or one script): between SET and EXPIRE a process may die.',
  limits: { cache: 0.05 },
  *check(snapshot, { cache }) {
    yield* eachPrefix(snapshot, ['pttl'], function* (prefix) {
      const without = prefix.members.filter(({ ttl }) => ttl === -1);
      const share = without.length / prefix.members.length;
      const durable = ALWAYS.has(prefix.class);
      if (durable ? without.length === 0 : prefix.class !== 'cache' || share <= cache) return;
      yield {
        severity: durable ? 'critical' : 'error',
        scope: scopeOf(prefix),
        measured: round(share),
        threshold: durable ? 0 : cache,
        evidence: `${without.length} of ${prefix.members.length} sampled ${prefix.class} keys have no TTL (${percent(share)}${margin(snapshot)})`,
        keys: examples(without),
      };
    });
  },
});

function margin({ sample }: Snapshot): string {
  return sample.margin === 0 ? '' : ` ±${(sample.margin * 100).toFixed(1)}`;
}

const mixed = defineRule({
  id: 'TTL003',
  name: 'mixed',
  severities: ['warn'],
  measured: 'sample: PTTL -1, by prefix',
  when: 'between {low} and {high} of the keys of a prefix are without TTL (from {atLeast} keys; not where TTL002 judges)',
  why: 'Some writer forgets the TTL, or drops it: SET without KEEPTTL, GETSET and RENAME take it away.',
  advice: 'Find the writer; use SET … KEEPTTL, or give the TTL with every write.',
  limits: { low: 0.01, high: 0.99, atLeast: 20 },
  *check(snapshot, { low, high, atLeast }) {
    yield* eachPrefix(snapshot, ['pttl'], function* (prefix) {
      if (prefix.class === 'cache' || ALWAYS.has(prefix.class) || prefix.members.length < atLeast) return;
      // A stream has no TTL, and what stands beside it has.
      if (DURABLE.has(prefix.class)) return;
      const share = prefix.members.filter(({ ttl }) => ttl === -1).length / prefix.members.length;
      if (share < low || share > high) return;
      yield {
        severity: 'warn',
        scope: scopeOf(prefix),
        measured: round(share),
        threshold: `${low}-${high}`,
        evidence: `${percent(share)}${margin(snapshot)} of ${prefix.members.length} sampled keys have no TTL, the others have one`,
        keys: examples(prefix.members.filter(({ ttl }) => ttl === -1)),
      };
    });
  },
});

const aligned = defineRule({
  id: 'TTL004',
  name: 'aligned',
  severities: ['warn'],
  measured: 'sample: histogram of PTTL in steps of 1 % of the longest, by prefix',
  when: 'more than {share} of the keys of a cache expire within the same step (from {atLeast} keys)',
  why: 'They expire together, and are all loaded anew at the same moment.',
  advice: 'Add jitter to the TTL: 10 % is enough.',
  limits: { share: 0.2, atLeast: 100 },
  *check(snapshot, { share, atLeast }) {
    yield* eachPrefix(snapshot, ['pttl'], function* (prefix) {
      const ttls = timesOf(prefix);
      if (prefix.class !== 'cache' || ttls.length < atLeast) return;
      const most = fullestStep(ttls) / ttls.length;
      if (most <= share) return;
      yield {
        severity: 'warn',
        scope: scopeOf(prefix),
        measured: round(most),
        threshold: share,
        evidence: `${percent(most)} of ${ttls.length} sampled keys expire within 1 % of the longest TTL`,
      };
    });
  },
});

function timesOf({ members }: PrefixFacts): number[] {
  return members.flatMap(({ ttl }) => (ttl === undefined || ttl < 0 ? [] : [ttl]));
}

/** How many fall into the fullest of 100 steps; steps begin at the longest TTL, so that equal ones are not parted. */
function fullestStep(ttls: readonly number[]): number {
  const longest = Math.max(largest(ttls), 1);
  const steps = new Map<number, number>();
  for (const ttl of ttls) {
    const step = Math.floor(((longest - ttl) * 100) / longest);
    steps.set(step, (steps.get(step) ?? 0) + 1);
  }
  return largest(steps.values());
}

const veryLong = defineRule({
  id: 'TTL005',
  name: 'very-long',
  severities: ['info'],
  measured: 'sample: PTTL in prefixes of caches',
  when: 'more than {share} of the keys of a cache have a TTL above {ms} ms',
  why: 'A cache that long is a copy of the database that nobody compares with it.',
  advice: 'Shorten the TTL, and let what is used be loaded anew.',
  limits: { ms: 30 * DAY, share: 0.05 },
  *check(snapshot, { ms, share }) {
    yield* eachPrefix(snapshot, ['pttl'], function* (prefix) {
      if (prefix.class !== 'cache') return;
      const long = prefix.members.filter(({ ttl = 0 }) => ttl > ms);
      if (long.length <= prefix.members.length * share) return;
      const longest = largest(long.map(({ ttl = 0 }: SampledKey) => ttl));
      yield {
        severity: 'info',
        scope: scopeOf(prefix),
        // Whole days, as the time that is left changes with every look.
        measured: `${Math.ceil(longest / DAY)} d`,
        threshold: `${ms / DAY} d`,
        evidence: `${long.length} of ${prefix.members.length} sampled keys live longer than ${ms / DAY} days`,
        keys: examples(long, ({ ttl = 0 }) => ttl),
      };
    });
  },
});

const backlog = defineRule({
  id: 'TTL006',
  name: 'backlog',
  severities: ['warn'],
  measured: 'INFO stats: expired_stale_perc',
  when: 'more than {percent} % of the keys with a TTL are estimated to have expired and still take memory',
  why: 'Redis does not come after with expiring, so dead keys take the memory of live ones.',
  advice: 'Raise active-expire-effort, and spread the expirations (TTL004).',
  limits: { percent: 25 },
  *check(snapshot, limits) {
    yield* eachNode(snapshot, function* (node): Generator<Outcome> {
      const measured = known(node.info).number('expired_stale_perc');
      if (measured <= limits.percent) return;
      yield {
        severity: 'warn',
        scope: { node: node.node },
        measured,
        threshold: limits.percent,
        evidence: `about ${measured} % of the keys with a TTL have expired already`,
        commands: ['CONFIG SET active-expire-effort 4'],
      };
    });
  },
});

export const ttlRules = [coverage, noTtl, mixed, aligned, veryLong, backlog];
