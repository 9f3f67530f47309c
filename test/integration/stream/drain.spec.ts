import { afterEach, expect, it } from '@jest/globals';
import { startProgram, type Program } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import type { ApplicationSetup } from './programs/application.js';
import { openStreams, range, sorted, type TestStreams } from './test-streams.js';

/** Nothing in these specs is due to the end of a lease. */
const PATIENT = { lease: 30_000, block: 200, concurrency: 10 } as const;

type Counts = [attempt: number, deliveries: number];

describeOnEachTopology('an application that consumes and gets SIGTERM', { user: 'stream' }, (topology) => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    await Promise.all(closing.splice(0).map((close) => close()));
  });

  /** Five of ten messages are its own: two run, three wait. */
  const start = async (
    setup: Pick<ApplicationSetup, 'drainTimeout' | 'ends'>,
  ): Promise<{ app: Program; streams: TestStreams }> => {
    const { connection } = topology;
    const streams = await openStreams(connection, await topology.newNamespace());
    closing.push(() => streams.close());
    const data: ApplicationSetup = { connection, namespace: streams.namespace, ...setup };
    const app = startProgram(new URL('./programs/application.ts', import.meta.url), { data });
    closing.push(() => app.kill());
    expect(await app.next('ready')).toMatchObject({ state: 'running' });
    await streams.producer.publishMany(
      'work',
      range(10).map((payload) => ({ payload })),
    );
    await app.next('begin', { count: 2 });
    await eventually(async () => expect((await streams.admin.pending('work', 'g'))!.count).toBe(5));
    return { app, streams };
  };
  const consumeElsewhere = async ({ runtime }: TestStreams): Promise<Map<unknown, Counts>> => {
    const seen = new Map<unknown, Counts>();
    const { ready } = runtime.consume({ stream: 'work', group: 'g', ...PATIENT }, (body, ctx) => {
      seen.set(body, [ctx.attempt, ctx.deliveryCount]);
    });
    runtime.start();
    await ready;
    return seen;
  };
  const nothingPends = ({ admin }: TestStreams) =>
    eventually(async () => expect((await admin.pending('work', 'g'))!.count).toBe(0), { timeout: 10_000 });

  /** Hands over at once what waits, lets handlers end, and closes the databases of others afterwards. */
  async function inTime(): Promise<void> {
    const { app, streams } = await start({ drainTimeout: 20_000, ends: 'told' });
    const seen = await consumeElsewhere(streams);
    const ending = app.kill('SIGTERM');
    await eventually(() => expect(sorted([...seen.keys()])).toEqual([2, 3, 4, 5, 6, 7, 8, 9]), { timeout: 10_000 });
    // A delivery that never began is none.
    expect(new Set([...seen.values()].map((counts) => counts.join()))).toEqual(new Set(['1,1']));
    app.send({ type: 'finish' });
    await ending;
    expect(app.ending).toEqual({ code: null, signal: 'SIGTERM' });
    const ends = app.received('end').map(({ body, open, reason }) => [body, open, reason]);
    expect(ends).toEqual([
      [0, true, undefined],
      [1, true, undefined],
    ]);
    expect(app.received('begin')).toHaveLength(2);
    const order = app.messages.map(({ type, name }) => name ?? type).slice(-4);
    expect(order).toEqual(['end', 'end', 'orders', 'audit']);
    await nothingPends(streams);
    expect((await streams.admin.groups('work'))[0]!.consumers).toBe(1);
  }

  /** Aborts handlers that take longer than it may wait, ends in time, and has their messages run elsewhere. */
  async function tooLate(): Promise<void> {
    const { app, streams } = await start({ drainTimeout: 300, ends: 'aborted' });
    const began = performance.now();
    await app.kill('SIGTERM');
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(app.received('end').map(({ reason, open }) => [reason, open])).toEqual([
      ['ERR_STREAM_DRAINED', true],
      ['ERR_STREAM_DRAINED', true],
    ]);
    const seen = await consumeElsewhere(streams);
    await eventually(() => expect(sorted([...seen.keys()])).toEqual(range(10)), { timeout: 10_000 });
    expect(new Set([...seen.values()].map(([attempt]) => attempt))).toEqual(new Set([1]));
    await nothingPends(streams);
  }

  it('drains: runs end or are aborted at the limit, what waits runs elsewhere, and databases close last', async () => {
    await Promise.all([inTime(), tooLate()]);
  }, 60_000);
});
