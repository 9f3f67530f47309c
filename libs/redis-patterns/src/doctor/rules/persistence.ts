import { known } from '../snapshot.js';
import { defineRule, durablePrefixes, eachNode, namesOf, round } from './rule.js';

const HOUR = 3_600_000;

const notPersistent = defineRule({
  id: 'PER001',
  name: 'not-persistent',
  severities: ['error'],
  measured: 'INFO persistence: aof_enabled; CONFIG GET save; classes of the sample',
  when: 'neither snapshots nor an append-only file, and there is durable data',
  why: 'A restart loses all of it.',
  advice: 'Switch the append-only file on, with appendfsync everysec.',
  limits: {},
  *check(snapshot) {
    yield* eachNode(snapshot, function* (node) {
      if (known(node.info).number('aof_enabled') === 1) return;
      const durable = durablePrefixes(snapshot);
      if (durable.length === 0 || known(node.config).get('save') !== '') return;
      yield {
        severity: 'error',
        scope: { node: node.node },
        measured: 'none',
        threshold: 'appendonly yes',
        evidence: `nothing is on disk, and there is ${namesOf(durable)}`,
        commands: ['CONFIG SET appendonly yes', 'CONFIG SET appendfsync everysec'],
      };
    });
  },
});

const saveFailing = defineRule({
  id: 'PER002',
  name: 'save-failing',
  severities: ['critical'],
  measured: 'INFO persistence: rdb_last_bgsave_status, aof_last_write_status, aof_last_bgrewrite_status',
  when: 'a snapshot, or a write or rewrite of the append-only file, has failed',
  why: 'What is on disk gets old, and with stop-writes-on-bgsave-error Redis refuses writes.',
  advice: 'Look at the disk, its rights, and the memory that a fork needs (vm.overcommit_memory 1).',
  limits: {},
  *check(snapshot) {
    yield* eachNode(snapshot, function* (node) {
      const info = known(node.info);
      for (const field of ['rdb_last_bgsave_status', 'aof_last_write_status', 'aof_last_bgrewrite_status']) {
        const status = info.text(field) ?? 'ok';
        if (status === 'ok') continue;
        const scope = { node: node.node, subject: field };
        yield { severity: 'critical', scope, measured: status, threshold: 'ok', evidence: `${field} is ${status}` };
      }
    });
  },
});

const staleSnapshot = defineRule({
  id: 'PER003',
  name: 'stale-rdb',
  severities: ['warn'],
  measured: 'INFO persistence: rdb_changes_since_last_save, rdb_last_save_time; CONFIG GET save',
  when: 'snapshots are on, there are more than {changes} changes since the last, and it is older than {age} ms (no append-only file)',
  why: 'A crash loses all of these changes.',
  advice: 'Closer save points, or an append-only file.',
  limits: { changes: 10_000, age: HOUR },
  *check(snapshot, limits) {
    yield* eachNode(snapshot, function* (node) {
      const info = known(node.info);
      const changes = info.number('rdb_changes_since_last_save');
      const age = info.now - info.number('rdb_last_save_time') * 1000;
      if (info.number('aof_enabled') === 1 || changes <= limits.changes || age <= limits.age) return;
      if ((known(node.config).get('save') ?? '') === '') return;
      yield {
        severity: 'warn',
        scope: { node: node.node },
        measured: changes,
        threshold: limits.changes,
        evidence: `${changes} changes since the last snapshot, more than ${Math.floor(age / HOUR)} h ago`,
      };
    });
  },
});

const slowFork = defineRule({
  id: 'PER004',
  name: 'slow-fork',
  severities: ['warn'],
  measured: 'INFO stats: latest_fork_usec',
  when: 'the last fork took more than {ms} ms',
  why: 'Nobody is served during a fork, and each snapshot, rewrite and new replica needs one.',
  advice: 'Smaller instances; transparent huge pages off.',
  limits: { ms: 200 },
  *check(snapshot, limits) {
    yield* eachNode(snapshot, function* (node) {
      const ms = known(node.info).number('latest_fork_usec') / 1000;
      if (ms <= limits.ms) return;
      yield {
        severity: 'warn',
        scope: { node: node.node },
        measured: round(ms, 1),
        threshold: limits.ms,
        evidence: `the last fork took ${ms.toFixed(1)} ms`,
      };
    });
  },
});

export const persistenceRules = [notPersistent, saveFailing, staleSnapshot, slowFork];
