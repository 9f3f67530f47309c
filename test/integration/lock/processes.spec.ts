import { afterEach, expect, it } from '@jest/globals';
import { startProgram, type Program } from '../../support/child-process.js';
import { describeOnEachTopology } from '../../support/topologies.js';

const programs: Program[] = [];
afterEach(async () => {
  await Promise.all(programs.splice(0).map((program) => program.kill()));
});

describeOnEachTopology('locks of several processes', { user: 'lock' }, (topology) => {
  const start = async (count: number, sections = 0): Promise<Program[]> => {
    const { connection, namespace, admin } = topology;
    const data = { connection, namespace, admin: admin.connection, sections };
    const started = Array.from({ length: count }, () =>
      startProgram(new URL('./programs/worker.ts', import.meta.url), { data }),
    );
    programs.push(...started);
    await Promise.all(started.map((program) => program.next('ready')));
    return started;
  };

  it('never overlap, and a killed holder delays the others by its lease', async () => {
    const SECTIONS = 40;
    const [victim, ...workers] = await start(4, SECTIONS);
    victim!.send({ type: 'hold' });
    await victim!.next('holding');
    for (const worker of workers) worker.send({ type: 'work' });
    await victim!.kill();
    await Promise.all(workers.map((worker) => worker.next('done', { timeout: 60_000 })));
    const log = `${topology.namespace}:{log}`;
    // Every section wrote once, and no write was older than the one before: the fences grew in the order of the sections.
    expect(await topology.admin.client.llen(log)).toBe(workers.length * SECTIONS);
    expect(await topology.admin.client.llen(`${log}:entered`)).toBe(workers.length * SECTIONS);
  }, 90_000);

  it('sell the last item once', async () => {
    await topology.admin.client.set(`${topology.namespace}:stock`, 1);
    const buyers = await start(2);
    for (const buyer of buyers) buyer.send({ type: 'buy' });
    const answers = await Promise.all(buyers.map((buyer) => buyer.next('bought')));
    expect(answers.filter(({ bought }) => bought === true)).toHaveLength(1);
    expect(await topology.admin.client.get(`${topology.namespace}:stock`)).toBe('0');
  });
});
