import { known } from '../snapshot.js';
import { bytesText, defineRule, durablePrefixes, eachNode, namesOf, type Outcome } from './rule.js';

const replicas = defineRule({
  id: 'REP001',
  name: 'replicas',
  severities: ['warn', 'error'],
  measured: 'INFO replication: replicas, their offset and lag; classes of the sample',
  when: 'durable data has no replica, or a replica is more than {bytes} bytes or {seconds} s behind',
  why: 'Without a replica that is near, a dead master takes the data, or the last part of it, with it.',
  advice: 'Add a replica; look at the network, and at repl-backlog-size.',
  limits: { bytes: 1024 * 1024, seconds: 5 },
  *check(snapshot, { bytes, seconds }) {
    yield* eachNode(snapshot, function* (node): Generator<Outcome> {
      const found = known(node.info).replicas;
      const scope = { node: node.node };
      const late = found.filter((replica) => replica.behind > bytes || replica.lag > seconds);
      if (late.length > 0) {
        const worst = Math.max(...late.map(({ behind }) => behind));
        const slowest = Math.max(...late.map(({ lag }) => lag));
        yield {
          severity: 'error',
          scope,
          measured: worst,
          threshold: bytes,
          evidence: `${late.length} of ${found.length} replicas are behind: ${bytesText(worst)}, ${slowest} s`,
        };
      }
      if (found.length > 0) return;
      const durable = durablePrefixes(snapshot);
      if (durable.length === 0) return;
      yield {
        severity: 'warn',
        scope,
        measured: 0,
        threshold: 1,
        evidence: `no replica, and there is ${namesOf(durable)}`,
      };
    });
  },
});

const unguarded = defineRule({
  id: 'REP002',
  name: 'unguarded',
  severities: ['warn'],
  measured: 'CONFIG GET min-replicas-to-write; INFO replication; classes of the sample',
  when: 'there are durable data and replicas, and min-replicas-to-write is 0',
  why: 'A master that lost its replicas goes on taking writes, and a failover forgets them.',
  advice: 'Set min-replicas-to-write 1 and min-replicas-max-lag 10 at most.',
  limits: {},
  *check(snapshot) {
    yield* eachNode(snapshot, function* (node) {
      const count = known(node.info).replicas.length;
      if (count === 0) return;
      const durable = durablePrefixes(snapshot);
      if (durable.length === 0 || Number(known(node.config).get('min-replicas-to-write') ?? 0) > 0) return;
      yield {
        severity: 'warn',
        scope: { node: node.node },
        measured: 0,
        threshold: 1,
        evidence: `min-replicas-to-write is 0, with ${count} replicas and ${namesOf(durable)}`,
        commands: ['CONFIG SET min-replicas-to-write 1', 'CONFIG SET min-replicas-max-lag 10'],
      };
    });
  },
});

const quorum = defineRule({
  id: 'REP003',
  name: 'quorum',
  severities: ['error'],
  measured: 'SENTINEL CKQUORUM',
  when: 'the Sentinels reach no quorum, or fewer than {sentinels} can be used',
  why: 'Nobody can decide about a failover: when the master dies, it stays dead.',
  advice: 'Run three Sentinels on three machines.',
  limits: { sentinels: 3 },
  *check({ quorum: answer }, limits) {
    if (answer === undefined) return;
    const { ok, usable, text } = known(answer);
    if (ok && usable >= limits.sentinels) return;
    yield {
      severity: 'error',
      scope: {},
      measured: ok ? usable : text,
      threshold: limits.sentinels,
      evidence: ok ? `${usable} Sentinels can be used` : 'the Sentinels reach no quorum',
    };
  },
});

export const replicationRules = [replicas, unguarded, quorum];
