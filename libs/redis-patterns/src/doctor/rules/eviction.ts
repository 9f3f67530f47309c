import { known, Unknown } from '../snapshot.js';
import {
  bytesText,
  defineRule,
  cachePrefixes,
  durablePrefixes,
  eachNode,
  namesOf,
  percent,
  policyOf,
  round,
  sinceText,
  type Outcome,
} from './rule.js';
import { hitRateOf } from './hit-rate.js';

const ALL_TTL = new Set(['lock', 'limiter', 'session', 'idempotency']);
const NOEVICTION = ['CONFIG SET maxmemory-policy noeviction'];

const noLimit = defineRule({
  id: 'EVI001',
  name: 'no-limit',
  severities: ['error'],
  measured: 'INFO memory: maxmemory',
  when: 'maxmemory is 0',
  why: 'Redis grows until the system swaps, or kills it.',
  advice: 'Set maxmemory to 70 to 80 % of the memory that the machine or container has for it.',
  limits: {},
  *check(snapshot) {
    yield* eachNode(snapshot, function* (node) {
      const info = known(node.info);
      if (info.text('maxmemory') === undefined) throw new Unknown('INFO does not tell maxmemory');
      if (info.number('maxmemory') !== 0) return;
      yield {
        severity: 'error',
        scope: { node: node.node },
        measured: 0,
        threshold: 'a limit',
        evidence: 'maxmemory is 0: no limit',
        commands: ['CONFIG SET maxmemory <70 to 80 % of the memory>'],
      };
    });
  },
});

const cacheNoeviction = defineRule({
  id: 'EVI002',
  name: 'cache-noeviction',
  severities: ['warn'],
  measured: 'INFO memory: maxmemory_policy; classes of the sample',
  when: 'noeviction, and there are only caches',
  why: 'A full cache refuses writes instead of forgetting what nobody reads.',
  advice: 'Use allkeys-lfu, or allkeys-lru.',
  limits: {},
  *check(snapshot) {
    yield* eachNode(snapshot, function* (node) {
      if (policyOf(node) !== 'noeviction') return;
      if (durablePrefixes(snapshot).length > 0) return;
      const caches = cachePrefixes(snapshot);
      if (caches.length === 0) return;
      yield {
        severity: 'warn',
        scope: { node: node.node },
        measured: 'noeviction',
        threshold: 'allkeys-*',
        evidence: `only caches: ${namesOf(caches)}`,
        commands: ['CONFIG SET maxmemory-policy allkeys-lfu'],
      };
    });
  },
});

const durableEvictable = defineRule({
  id: 'EVI003',
  name: 'durable-evictable',
  severities: ['critical'],
  measured: 'INFO memory: maxmemory_policy; classes of the sample',
  when: 'allkeys-*, and there is a lock, limit, session, stream, queue or idempotency record',
  why: 'Redis may evict them at any time: a lock gets a second holder, a session ends, messages vanish.',
  advice: 'Move them to an instance of their own with maxmemory-policy noeviction.',
  limits: {},
  *check(snapshot) {
    yield* eachNode(snapshot, function* (node): Generator<Outcome> {
      const policy = policyOf(node);
      if (!policy.startsWith('allkeys-')) return;
      const durable = durablePrefixes(snapshot);
      if (durable.length === 0) return;
      yield {
        severity: 'critical',
        scope: { node: node.node },
        measured: policy,
        threshold: 'noeviction',
        evidence: `durable keys under ${policy}: ${namesOf(durable)}`,
        commands: NOEVICTION,
        keys: durable.slice(0, 5).map(({ members }) => members[0]!.name),
      };
    });
  },
});

const ttlEvictable = defineRule({
  id: 'EVI004',
  name: 'ttl-evictable',
  severities: ['critical'],
  measured: 'INFO memory: maxmemory_policy; classes of the sample',
  when: 'volatile-*, and there is a lock, limit, session or idempotency record',
  why: 'These all have TTLs, so volatile-* evicts just them first.',
  advice: 'Move them to an instance of their own with maxmemory-policy noeviction.',
  limits: {},
  *check(snapshot) {
    yield* eachNode(snapshot, function* (node): Generator<Outcome> {
      const policy = policyOf(node);
      if (!policy.startsWith('volatile-')) return;
      const atRisk = durablePrefixes(snapshot).filter((prefix) => ALL_TTL.has(prefix.class));
      if (atRisk.length === 0) return;
      yield {
        severity: 'critical',
        scope: { node: node.node },
        measured: policy,
        threshold: 'noeviction',
        evidence: `keys with TTLs that must stay, under ${policy}: ${namesOf(atRisk)}`,
        commands: NOEVICTION,
      };
    });
  },
});

const volatileNoTtl = defineRule({
  id: 'EVI005',
  name: 'volatile-no-ttl',
  severities: ['error'],
  measured: 'INFO memory: maxmemory_policy; INFO keyspace: expires / keys',
  when: 'volatile-*, and less than {share} of the keys have a TTL (from {atLeast} keys)',
  why: 'There is nothing that may be evicted, so it acts like noeviction once the memory is full.',
  advice: 'Give cached keys a TTL, or use allkeys-lfu.',
  limits: { share: 0.1, atLeast: 100 },
  *check(snapshot, { share, atLeast }) {
    yield* eachNode(snapshot, function* (node) {
      const policy = policyOf(node);
      const { databases } = known(node.info);
      const keys = databases.reduce((total, db) => total + db.keys, 0);
      const expires = databases.reduce((total, db) => total + db.expires, 0);
      if (!policy.startsWith('volatile-') || keys < atLeast || expires >= keys * share) return;
      yield {
        severity: 'error',
        scope: { node: node.node },
        measured: round(expires / keys),
        threshold: share,
        evidence: `${policy}, and ${percent(expires / keys)} of the keys have a TTL`,
      };
    });
  },
});

const evicting = defineRule({
  id: 'EVI006',
  name: 'evicting',
  severities: ['warn'],
  measured: 'INFO stats: evicted_keys, keyspace_hits, keyspace_misses',
  when: 'keys are evicted and less than {hitRate} of the reads hit',
  why: 'The cache is too small: what would be read again is gone.',
  advice: 'More memory, shorter TTLs, smaller values.',
  limits: { hitRate: 0.8 },
  *check(snapshot, { hitRate }) {
    yield* eachNode(snapshot, function* (node) {
      const counters = known(node.counters);
      const evicted = counters.number('evicted_keys');
      const rate = hitRateOf(node);
      if (evicted <= 0 || rate === undefined || rate >= hitRate) return;
      yield {
        severity: 'warn',
        scope: { node: node.node },
        measured: evicted,
        threshold: 0,
        evidence: `${evicted} keys were evicted ${sinceText(node)}, and ${percent(rate)} of the reads hit`,
      };
    });
  },
});

const nearFull = defineRule({
  id: 'EVI007',
  name: 'near-full',
  severities: ['warn', 'error'],
  measured: 'INFO memory: used_memory / maxmemory',
  when: 'more than {warn} is used (error: {error}), unless allkeys-*: then a full memory is meant',
  why: 'When it is full, writes are refused.',
  advice: 'More memory, TTLs, trimmed streams; see SIZE003 for what takes it.',
  limits: { warn: 0.8, error: 0.95 },
  *check(snapshot, { warn, error }) {
    yield* eachNode(snapshot, function* (node) {
      const info = known(node.info);
      const maximum = info.number('maxmemory');
      const used = info.number('used_memory') / maximum;
      if (maximum === 0 || used <= warn || policyOf(node).startsWith('allkeys-')) return;
      yield {
        severity: used > error ? 'error' : 'warn',
        scope: { node: node.node },
        measured: round(used, 2),
        threshold: used > error ? error : warn,
        evidence: `${percent(used)} of ${bytesText(maximum)}`,
      };
    });
  },
});

export const evictionRules = [
  noLimit,
  cacheNoeviction,
  durableEvictable,
  ttlEvictable,
  volatileNoTtl,
  evicting,
  nearFull,
];
