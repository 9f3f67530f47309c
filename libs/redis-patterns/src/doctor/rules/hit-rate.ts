import { known, type NodeFacts, type Snapshot } from '../snapshot.js';
import { cachePrefixes, defineRule, eachNode, percent, round, sinceText, type Outcome } from './rule.js';

/** Share of the reads that found something; `undefined` without reads. */
export function hitRateOf(node: NodeFacts): number | undefined {
  const counters = known(node.counters);
  const hits = counters.number('keyspace_hits');
  const reads = hits + counters.number('keyspace_misses');
  return reads === 0 ? undefined : hits / reads;
}

const hitRate = defineRule({
  id: 'SLO001',
  name: 'hit-rate',
  severities: ['warn'],
  measured: 'INFO stats: keyspace_hits, keyspace_misses',
  when: 'less than {hitRate} of the reads hit, where there is a cache (from {reads} reads)',
  why: 'Most reads cost a round trip to Redis and then the database all the same.',
  advice: 'Longer TTLs, fewer parts in the keys; or the thing is not worth a cache.',
  limits: { hitRate: 0.5, reads: 1000 },
  *check(snapshot, limits) {
    yield* eachNode(snapshot, (node) => badHitRate(snapshot, node, limits));
  },
});

function* badHitRate(
  snapshot: Snapshot,
  node: NodeFacts,
  limits: { readonly hitRate: number; readonly reads: number },
): Generator<Outcome> {
  const counters = known(node.counters);
  const reads = counters.number('keyspace_hits') + counters.number('keyspace_misses');
  const rate = hitRateOf(node);
  if (reads < limits.reads || rate === undefined || rate >= limits.hitRate) return;
  if (cachePrefixes(snapshot).length === 0) return;
  yield {
    severity: 'warn',
    scope: { node: node.node },
    measured: round(rate),
    threshold: limits.hitRate,
    evidence: `${percent(rate)} of ${reads} reads hit ${sinceText(node)}`,
  };
}

export const hitRateRules = [hitRate];
