import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { startProgram, type Program } from '../../support/child-process.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openCache, type TestCache } from './test-cache.js';

const LEASE = 900;

describeOnEachTopology('the cache of several processes', { user: 'cache' }, (topology) => {
  let here: TestCache;
  let programs: Program[];

  beforeAll(async () => {
    here = await openCache(topology, { operationTimeout: '5s' }, { commandTimeout: '5s' });
    const { connection, namespace, admin } = topology;
    const file = new URL('./programs/loader.ts', import.meta.url);
    const data = { connection, namespace, admin: admin.connection, lease: LEASE };
    programs = [1, 2, 3, 4].map(() => startProgram(file, { data }));
    await Promise.all(programs.map((program) => program.next('ready')));
  });
  afterAll(async () => {
    await Promise.all((programs ?? []).map((program) => program.kill()));
    await here?.close();
  });

  it('runs one factory for 50 parallel misses in each of four processes', async () => {
    for (let round = 1; round <= 5; round++) {
      for (const program of programs) program.send({ type: 'load', key: `hot:${round}`, callers: 50 });
      const answers = await Promise.all(programs.map((program) => program.next('loaded', { count: round })));
      expect(answers.map((answer) => answer['values'])).toEqual(Array(4).fill(['run 1']));
      expect(await topology.admin.client.get(`${topology.namespace}:runs:hot:${round}`)).toBe('1');
      expect(await here.cache.get(`hot:${round}`)).toBe('run 1');
    }
    await topology.admin.deleteKeys(`${topology.namespace}:runs:*`);
  });

  it('is delayed by a loader that was killed for at most the lease of that', async () => {
    const victim = programs[2]!;
    victim.send({ type: 'hang', key: 'orphan' });
    await victim.next('hanging');
    const lease = `${topology.namespace}:cache~lease:{${topology.namespace}:cache:orphan}`;
    // It renews its lease as long as it lives.
    const token = await topology.admin.client.get(lease);
    const startedAt = performance.now();
    await eventually(() => performance.now() - startedAt > LEASE * 1.5);
    expect(await topology.admin.client.get(lease)).toBe(token);

    await victim.kill('SIGKILL');
    const killedAt = performance.now();
    expect(await here.cache.getOrSet('orphan', async () => 'taken over')).toBe('taken over');
    const delay = performance.now() - killedAt;
    expect(delay).toBeGreaterThan(50);
    expect(delay).toBeLessThan(LEASE + 500);
    expect(await here.cache.get('orphan')).toBe('taken over');
  });
});
