import { expect, it } from '@jest/globals';
import type { StreamContext, StreamRuntime } from '../../../libs/redis-patterns/src/stream/index.js';
import { eventually as waitFor } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { neverRun, outOfOrder, type KeyRun } from './key-order.js';
import { useStreams } from './stream-place.js';
import { gate, QUICK, range, sorted } from './test-streams.js';

const ORDERED = { stream: 's', group: 'g', ...QUICK, ordering: 'key' } as const;
/** However slow the machine. */
const eventually: typeof waitFor = (check, options) => waitFor(check, { timeout: 30_000, ...options });
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Body {
  readonly key: string;
  readonly seq: number;
}

describeOnEachTopology('streams in order of keys', { user: 'stream' }, (topology) => {
  const place = useStreams(topology);
  const { companion, pendingCount, key: keyOf } = place;
  const runs: KeyRun[] = [];

  async function publish(key: string, seq: number, options: object = {}): Promise<string> {
    return place.streams.producer.publish('s', { key, seq }, { key, ...options });
  }

  /** Consumes, and writes down every run. */
  function consume(
    runtime: StreamRuntime,
    owner: string,
    handle: (body: Body, ctx: StreamContext) => unknown,
    more = {},
  ) {
    const { ready } = runtime.consume({ ...ORDERED, ...more }, async (body, ctx) => {
      const run: KeyRun = { ...(body as Body), owner, from: performance.now(), to: Infinity };
      runs.push(run);
      try {
        await handle(body as Body, ctx);
      } finally {
        run.to = performance.now();
      }
    });
    runtime.start();
    return ready;
  }

  /** Starts of a key, in the order of time. */
  const starts = (key: string): number[] => runs.filter((run) => run.key === key).map(({ seq }) => seq);

  /** Those that were under way: Redis ends each by itself. */
  function allReadsAreOver(): Promise<boolean> {
    const from = performance.now();
    return eventually(() => performance.now() - from > 2 * QUICK.block);
  }

  /** Nothing is left of what was under way. */
  function allDone(): Promise<void> {
    return eventually(
      async () => {
        const figures = await place.streams.admin.lag('s', 'g');
        expect(figures).toMatchObject({ lag: 0, pending: 0, retries: 0, parked: 0, oldestMs: 0 });
        const { client } = topology.admin;
        expect(await client.exists(companion('lanes', 's', 'g'))).toBe(0);
        expect(await client.xlen(companion('retry', 's', 'g'))).toBe(0);
      },
      { timeout: 30_000 },
    );
  }

  it('start in the order of publishing and never overlap, over consumers that come and go, with failures', async () => {
    runs.length = 0;
    const keys = range(8).map((n) => `k${n}`);
    const handle = async ({ seq }: Body, { attempt }: StreamContext): Promise<void> => {
      await pause(Math.random() * 4);
      if (seq % 5 === 2 && attempt === 1) throw new Error('the first attempt fails');
      if (seq === 7) throw new Error('it never succeeds');
    };
    const { streams } = place;
    // Nobody dies here: no lease ends, however slow the machine.
    const options = { concurrency: 4, lease: '30s', retry: { attempts: 2, backoff: { base: 5, max: 20 } } };
    const first = streams.anotherRuntime();
    await consume(first, 'first', handle, options);
    const published = keys.map(async (key) => {
      for (const seq of range(15)) await publish(key, seq, seq % 3 === 0 ? { dedupId: `${key} ${seq}` } : {});
    });
    const second = streams.anotherRuntime();
    await consume(second, 'second', handle, options);
    await eventually(() => expect(runs.length).toBeGreaterThan(20));
    await first.drain('5s');
    await consume(streams.anotherRuntime(), 'third', handle, options);
    await Promise.all(published);
    await allDone();
    expect(outOfOrder(runs)).toEqual([]);
    expect(neverRun(runs, new Map(keys.map((key) => [key, 15])))).toEqual([]);
    // Once each, and once more what failed: 2 and 12 the first time, 7 for ever.
    expect(runs).toHaveLength(keys.length * (15 + 3));
    expect(new Set(runs.map(({ owner }) => owner)).size).toBeGreaterThan(1);
    expect(await streams.admin.deadLetters('s', 'g').count()).toBe(keys.length);
    const own = (await topology.admin.keys(`${streams.namespace}:*`)).filter((key) => key !== keyOf('s'));
    for (const key of own) expect([key, await topology.admin.client.pttl(key)]).not.toEqual([key, -1]);
  });

  it('keep a key waiting for the next attempt of its message, and no other key, and tell where it stands', async () => {
    runs.length = 0;
    const { admin, runtime } = place.streams;
    const held = gate();
    const placed = await publish('late', 0);
    for (const seq of [1, 2]) await publish('late', seq);
    const handle = async ({ key, seq }: Body, ctx: StreamContext): Promise<void> => {
      if (key === 'late' && seq === 0 && ctx.attempt === 1) await ctx.retry({ delay: '1h' });
      if (key === 'held') await held.opened;
    };
    await consume(runtime, 'one', handle, { lease: '30s' });
    await publish('held', 0);
    await publish('held', 1);
    for (const seq of range(20)) await publish(`other${seq % 4}`, seq);
    await place.streams.producer.publish('s', { key: 'none', seq: 0 });
    await eventually(async () => {
      const lane = await admin.lane('s', 'g', 'late');
      expect(lane).toEqual({ id: placed, consumer: undefined, retryInMs: expect.any(Number), waiting: 2 });
    });
    await eventually(() => expect(runs.filter(({ key }) => key.startsWith('other'))).toHaveLength(20));
    await eventually(() => expect(starts('none')).toEqual([0]));
    expect(starts('late')).toEqual([0]);
    const [consumer] = (await topology.admin.client.xinfo(
      'CONSUMERS',
      companion('retry', 's', 'g'),
      'g',
    )) as string[][];
    await eventually(async () =>
      expect(await admin.lane('s', 'g', 'held')).toMatchObject({ consumer: consumer![1], waiting: 1 }),
    );
    await eventually(async () => {
      const figures = await admin.lag('s', 'g');
      expect(figures).toMatchObject({ lag: 0, retries: 1, parked: 3, pending: 4, members: 1 });
      expect(figures!.oldestMs).toBeGreaterThan(0);
    });
    held.open();
    // An hour later.
    await topology.admin.client.zadd(companion('due', 's', 'g'), 1, placed);
    await allDone();
    expect(starts('late')).toEqual([0, 0, 1, 2]);
    expect(starts('held')).toEqual([0, 1]);
    expect(await admin.lane('s', 'g', 'late')).toBeUndefined();
  });

  it('let a key go on however its message was settled, and put what is replayed in its place', async () => {
    runs.length = 0;
    const { admin, runtime, producer } = place.streams;
    const sold = { commit: 0 };
    const held = gate();
    await consume(
      runtime,
      'one',
      async ({ seq }, ctx) => {
        await pause(2);
        if (seq === 0) return ctx.ack();
        if (seq === 1) return ctx.deadLetter('by hand');
        if (seq === 2 || seq === 5) return ctx.commit((tx) => tx.call('SET', companion('sold', 's'), ++sold.commit));
        if (seq === 4) await held.opened;
        return undefined;
      },
      // No sweep that mends keys may come to the aid of what ought to pass the turn on, but the one after the start.
      { type: ['known'], lease: '60s' },
    );
    for (const seq of range(3)) await publish('k', seq, { type: 'known' });
    await publish('k', 3, { type: 'unknown' });
    for (const seq of [4, 5, 6]) await publish('k', seq, { type: 'known' });
    await producer.publish('s', { key: 'k', seq: 7 }, { key: 'k', type: 'known', delay: 10 });
    await eventually(() => expect(starts('k')).toEqual([0, 1, 2, 4]));
    expect(await topology.admin.client.get(companion('sold', 's'))).toBe('1');
    await topology.admin.client.unlink(companion('sold', 's'));
    const letters = await admin.deadLetters('s', 'g').list();
    expect(letters.map(({ reason }) => reason)).toEqual(['unknown-type', 'handler']);
    await eventually(async () => expect((await admin.lane('s', 'g', 'k'))!.waiting).toBe(3));
    // It was published before those that wait, so it runs before them, but not beside the one that runs.
    expect(await admin.deadLetters('s', 'g').replay({ ids: [letters[1]!.id] })).toBe(1);
    await publish('other', 8, { type: 'known' });
    await eventually(() => expect(starts('other')).toEqual([8]));
    expect(starts('k')).toEqual([0, 1, 2, 4]);
    held.open();
    await allDone();
    expect(starts('k')).toEqual([0, 1, 2, 4, 1, 5, 6, 7]);
    expect(await admin.deadLetters('s', 'g').count()).toBe(2);
  });

  it('take no more from the stream than may wait, and mend a key whose message was deleted by hand', async () => {
    runs.length = 0;
    const held = gate();
    const { runtime, anotherRuntime, admin, producer } = place.streams;
    const another = anotherRuntime();
    const hot = range(200).map((seq) => ({ payload: { key: 'hot', seq }, key: 'hot' }));
    await producer.publishMany('s', hot);
    const handle = ({ seq }: Body): unknown => (seq === 0 ? held.opened : undefined);
    const options = { concurrency: 2, prefetch: 4, maxParked: 20 };
    await Promise.all([consume(runtime, 'one', handle, options), consume(another, 'two', handle, options)]);
    await eventually(async () => expect((await admin.lag('s', 'g'))!.parked).toBeGreaterThanOrEqual(20));
    // It stays so: a read takes six at most, and there are two readers.
    await allReadsAreOver();
    const parked = (await admin.lag('s', 'g'))!.parked;
    expect(parked).toBeLessThanOrEqual(32);
    held.open();
    await allDone();
    expect([...new Set(starts('hot'))]).toEqual(range(200));

    // Of what is deleted nobody says that it is done.
    await admin.pause('s', 'g');
    for (const one of [runtime, another]) await eventually(() => expect(one.readers[0]!.state).toBe('paused'));
    await allReadsAreOver();
    const { client } = topology.admin;
    const id = await publish('lost', 0);
    await publish('lost', 1);
    await client.xreadgroup('GROUP', 'g', 'nobody', 'COUNT', 2, 'STREAMS', keyOf('s'), '>');
    await eventually(async () => expect((await admin.lane('s', 'g', 'lost'))?.id).toBe(id));
    const [head] = await client.xrange(companion('retry', 's', 'g'), '-', '+');
    await client.xdel(companion('retry', 's', 'g'), head![0]);
    await admin.resume('s', 'g');
    await allDone();
    expect(starts('lost')).toEqual([1]);
  });

  it('refuse to be mixed with consumers that keep no order, and begin when those are gone', async () => {
    runs.length = 0;
    const { runtime, anotherRuntime, admin } = place.streams;
    const disorderly = anotherRuntime();
    await consume(disorderly, 'disorderly', () => pause(1), { ordering: 'none' });
    await eventually(async () => expect((await admin.lag('s', 'g'))!.members).toBe(1));
    const ready = consume(runtime, 'orderly', () => pause(1));
    await eventually(() => expect(runtime.readers[0]).toMatchObject({ state: 'failing', trouble: 'ORDERING' }));
    await publish('k', 0);
    await eventually(() => expect(runs).toMatchObject([{ owner: 'disorderly' }]));
    await disorderly.drain('1s');
    for (const seq of [1, 2]) await publish('k', seq);
    await ready;
    await allDone();
    expect(runs.slice(1)).toMatchObject([{ owner: 'orderly' }, { owner: 'orderly' }]);
    expect(runtime.readers[0]!.state).toBe('reading');
    // And back: what waits in lanes is not lost.
    await admin.pause('s', 'g');
    await eventually(() => expect(runtime.readers[0]!.state).toBe('paused'));
    for (const seq of [3, 4]) await publish('k', seq);
    await topology.admin.client.xreadgroup('GROUP', 'g', 'nobody', 'COUNT', 2, 'STREAMS', keyOf('s'), '>');
    await eventually(async () => expect((await admin.lane('s', 'g', 'k'))?.waiting).toBe(1));
    await runtime.drain('1s');
    await admin.resume('s', 'g');
    await consume(anotherRuntime(), 'again', () => undefined, { ordering: 'none' });
    await eventually(() => expect(sorted(starts('k'))).toEqual(range(5)));
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
    expect(await topology.admin.client.exists(companion('lanes', 's', 'g'), companion('parked', 's', 'g'))).toBe(0);
  });

  it('go on when the group is lost, and with it what its consumers had agreed on', async () => {
    runs.length = 0;
    const { runtime, anotherRuntime } = place.streams;
    const { client } = topology.admin;
    await consume(runtime, 'one', () => pause(1));
    await client.unlink(companion('meta', 's'));
    await consume(anotherRuntime(), 'two', () => pause(1));
    await client.unlink(companion('meta', 's'));
    await client.xgroup('DESTROY', keyOf('s'), 'g');
    for (const seq of range(6)) await publish('k', seq);
    await eventually(() => expect(new Set(starts('k'))).toEqual(new Set(range(6))));
    await allDone();
  });

  it('refuse batches, and two consumers of one group that say different things', () => {
    const { runtime } = place.streams;
    const batch = { size: 10 };
    expect(() => runtime.consume({ ...ORDERED, batch }, () => undefined, 'A.b')).toThrow(/A\.b.*\n?.*batch: cannot be/);
    runtime.consume({ ...ORDERED, type: 'a' }, () => undefined, 'A.a');
    const { ordering: _, ...silent } = ORDERED;
    expect(() => runtime.consume({ ...silent, type: 'b', batch }, () => undefined, 'A.b')).toThrow('batch: cannot be');
    runtime.consume({ ...silent, group: 'h', type: 'a', batch }, () => undefined, 'A.c');
    expect(() => runtime.consume({ ...ORDERED, group: 'h' }, () => undefined, 'A.d')).toThrow('A.c');
    const other = { ...ORDERED, ordering: 'none', type: 'b' } as const;
    expect(() => runtime.consume(other, () => undefined, 'A.e')).toThrow('ordering: differs from that of A.a');
  });
});
