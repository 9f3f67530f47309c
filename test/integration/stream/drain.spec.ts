import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { startProgram, type Program } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import type { ApplicationSetup } from './programs/application.js';
import { openStreams, range, sorted, type TestStreams } from './test-streams.js';

/** Nothing in these specs is due to the end of a lease. */
const PATIENT = { lease: 30_000, block: 200, concurrency: 10 } as const;

describeOnEachTopology('an application that consumes and gets SIGTERM', { user: 'stream' }, (topology) => {
  let streams: TestStreams;
  let program: Program | undefined;

  beforeEach(async () => {
    streams = await openStreams(topology.connection, await topology.newNamespace());
  });
  afterEach(async () => {
    await program?.kill();
    await streams.close();
  });

  /** Five of ten messages are its own: two run, three wait. */
  const start = async (setup: Pick<ApplicationSetup, 'drainTimeout' | 'takes'>): Promise<Program> => {
    const data: ApplicationSetup = { connection: topology.connection, namespace: streams.namespace, ...setup };
    program = startProgram(new URL('./programs/application.ts', import.meta.url), { data });
    expect(await program.next('ready')).toMatchObject({ state: 'running' });
    await streams.producer.publishMany(
      'work',
      range(10).map((payload) => ({ payload })),
    );
    await program.next('begin', { count: 2 });
    await eventually(async () => expect((await streams.admin.pending('work', 'g'))!.count).toBe(5));
    return program;
  };
  const consumeElsewhere = async (): Promise<Map<unknown, [attempt: number, deliveries: number]>> => {
    const seen = new Map<unknown, [attempt: number, deliveries: number]>();
    const { ready } = streams.runtime.consume({ stream: 'work', group: 'g', ...PATIENT }, (body, ctx) => {
      seen.set(body, [ctx.attempt, ctx.deliveryCount]);
    });
    streams.runtime.start();
    await ready;
    return seen;
  };
  const nothingPends = () =>
    eventually(async () => expect((await streams.admin.pending('work', 'g'))!.count).toBe(0), { timeout: 10_000 });

  it('hands over at once what waits, lets handlers end, and closes the databases of others afterwards', async () => {
    const app = await start({ drainTimeout: 20_000, takes: 1500 });
    const seen = await consumeElsewhere();
    const ending = app.kill('SIGTERM');
    await eventually(() => expect(sorted([...seen.keys()])).toEqual([2, 3, 4, 5, 6, 7, 8, 9]), { timeout: 10_000 });
    // A delivery that never began is none.
    expect(new Set([...seen.values()].map((counts) => counts.join()))).toEqual(new Set(['1,1']));
    await ending;
    const killed = { code: null, signal: 'SIGTERM' };
    expect(app.ending).toEqual(killed);
    const ends = app.received('end').map(({ body, open, reason }) => [body, open, reason]);
    expect(ends).toEqual([
      [0, true, undefined],
      [1, true, undefined],
    ]);
    expect(app.received('begin')).toHaveLength(2);
    const order = app.messages.map(({ type, name }) => name ?? type).slice(-4);
    expect(order).toEqual(['end', 'end', 'orders', 'audit']);
    await nothingPends();
    expect((await streams.admin.groups('work'))[0]!.consumers).toBe(1);
  });

  it('aborts handlers that take longer than it may wait, ends in time, and has their messages run elsewhere', async () => {
    const app = await start({ drainTimeout: 300, takes: 'forever' });
    const began = performance.now();
    await app.kill('SIGTERM');
    expect(performance.now() - began).toBeLessThan(8000);
    expect(app.received('end').map(({ reason, open }) => [reason, open])).toEqual([
      ['ERR_STREAM_DRAINED', true],
      ['ERR_STREAM_DRAINED', true],
    ]);
    const seen = await consumeElsewhere();
    await eventually(() => expect(sorted([...seen.keys()])).toEqual(range(10)), { timeout: 10_000 });
    expect(new Set([...seen.values()].map(([attempt]) => attempt))).toEqual(new Set([1]));
    await nothingPends();
  });
});
