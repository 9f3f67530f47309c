import { known } from '../snapshot.js';
import { cachePrefixes, defineRule, durablePrefixes, eachNode, namesOf, policyOf } from './rule.js';

const oneForAll = defineRule({
  id: 'MIX001',
  name: 'one-for-all',
  severities: ['warn', 'error'],
  measured: 'classes of the sample; INFO memory: maxmemory_policy',
  when: 'caches and durable data are on one instance (error where it evicts)',
  why: 'No eviction policy is right for both: one of them refuses writes when the memory is full, or loses what it must keep.',
  advice: 'Use two instances: connections: { cache: { …, purpose: "cache" }, durable: { …, purpose: "durable" } }.',
  limits: {},
  *check(snapshot) {
    yield* eachNode(snapshot, function* (node) {
      const durable = durablePrefixes(snapshot);
      if (durable.length === 0) return;
      const caches = cachePrefixes(snapshot);
      if (caches.length === 0) return;
      const policy = policyOf(node);
      yield {
        severity: policy === 'noeviction' ? 'warn' : 'error',
        scope: { node: node.node },
        measured: policy,
        threshold: 'two instances',
        evidence: `${namesOf(caches)} beside ${namesOf(durable)}, under ${policy}`,
      };
    });
  },
});

const manyDatabases = defineRule({
  id: 'MIX002',
  name: 'many-dbs',
  severities: ['warn'],
  measured: 'INFO keyspace',
  when: 'more than {databases} database has keys',
  why: 'Databases share memory, eviction and the one thread; Cluster has number 0 only.',
  advice: 'Part applications by namespace, or by instance.',
  limits: { databases: 1 },
  *check(snapshot, limits) {
    yield* eachNode(snapshot, function* (node) {
      const { databases } = known(node.info);
      if (databases.length <= limits.databases) return;
      yield {
        severity: 'warn',
        scope: { node: node.node },
        measured: databases.length,
        threshold: limits.databases,
        evidence: `databases ${databases.map(({ db }) => db).join(', ')} have keys`,
      };
    });
  },
});

export const mixingRules = [oneForAll, manyDatabases];
