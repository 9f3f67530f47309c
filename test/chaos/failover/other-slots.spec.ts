import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import { eventually } from '../../support/eventually.js';
import { startOwn, type Topology } from '../../support/topologies.js';
import { Load, LONG, print, summary, type Write } from '../support/load.js';
import type { Server } from './failover.js';

/** How long the node is away, milliseconds: several times its node timeout and every deadline of the client. */
const AWAY = LONG ? 30_000 : 4000;
/** Callers that insist on the bad node. */
const PILE = 50;

const faults: { name: string; begin(own: Topology, master: Server): Promise<void> }[] = [
  { name: 'dead', begin: (own, master) => own.kill(master) },
  { name: 'hung', begin: async (own, master) => own.freeze(master) },
];

describe.each(faults)('a Cluster with a $name master', ({ name, begin }) => {
  let own: Topology;
  let engine: OpenEngine;
  let load: Load;

  beforeEach(async () => {
    // Without replicas nothing ends the fault; and by default the servers themselves close all slots when some are lost.
    own = await startOwn('cluster', { replicasPerMaster: 0, config: { 'cluster-require-full-coverage': 'no' } });
    engine = await openEngine({ connection: own.connection, namespace: 'chaos' });
    load = new Load('chaos', 3);
  });
  afterEach(async () => {
    await load?.stop();
    await engine?.close();
    await own?.stop();
  });

  it(
    'invariant 9: does not slow the calls to the slots of others',
    async () => {
      const { connection } = engine;
      load.call({ name: 'plain', connection });
      load.call({ name: 'waiting', connection, wait: true });
      await load.progress(100);
      const master = await own.primary();
      const faultAt = performance.now();
      await begin(own, master);
      for (let n = 0; n < PILE; n++) load.call({ name: `pile-${n}`, connection, wait: true, shards: [0] });
      await eventually(() => performance.now() - faultAt > AWAY, { timeout: 2 * AWAY });
      await load.stop();

      const others = load.writes.filter(({ shard }) => shard !== 0);
      const [before, after] = [true, false].map((early) =>
        others.filter(({ startedAt }) => startedAt < faultAt === early),
      );
      print(
        `cluster, a ${name} master: calls to others: before ${percentiles(before!)}, meanwhile ${percentiles(after!)}`,
      );
      print(`  its own slots: ${summary(load.writes.filter(({ shard }) => shard === 0))}`);
      expect(summary(others.filter(({ outcome }) => outcome !== 'ok'))).toBe('');
      expect(after!.length).toBeGreaterThan(before!.length);
      expect(percentile(after!, 0.99)).toBeLessThan(connection.commandTimeout / 4);
    },
    AWAY + 60_000,
  );
});

function percentile(writes: readonly Write[], share: number): number {
  const times = writes.map(({ startedAt, endedAt }) => endedAt - startedAt).toSorted((a, b) => a - b);
  return times[Math.min(times.length - 1, Math.floor(times.length * share))]!;
}

function percentiles(writes: readonly Write[]): string {
  return [0.5, 0.99, 1].map((share) => `p${share * 100} ${percentile(writes, share).toFixed(1)} ms`).join(' ');
}
