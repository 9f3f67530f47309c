import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import {
  connectAdmin,
  describeOn,
  describeOnEachTopology,
  startOwn,
  uniqueNamespace,
  type SharedTopology,
  type Topology,
} from '../../support/topologies.js';
import { useStreams, type StreamPlace } from './stream-place.js';
import { gate, openStreams, QUICK, range, type TestStreams } from './test-streams.js';

/** Long enough that nothing in these specs is due to the end of a lease. */
const PATIENT = { ...QUICK, lease: 30_000 } as const;

/** A consumer of `s` that has run a message, before each test. */
function useConsumer(topology: SharedTopology): StreamPlace & { readonly seen: unknown[] } {
  const place = useStreams(topology);
  const seen: unknown[] = [];
  beforeEach(async () => {
    seen.length = 0;
    const { runtime, producer } = place.streams;
    const { ready } = runtime.consume({ stream: 's', group: 'g', ...QUICK }, (body) => void seen.push(body));
    runtime.start();
    await ready;
    await producer.publish('s', 'before');
    await eventually(() => expect(seen).toEqual(['before']));
    await eventually(async () => expect(await place.pendingCount('s', 'g')).toBe(0));
  });
  return Object.defineProperty(place, 'seen', { value: seen }) as StreamPlace & { readonly seen: unknown[] };
}

describeOnEachTopology('streams that lose', { user: 'stream' }, (topology) => {
  const place = useConsumer(topology);
  const { key, pendingCount, seen } = place;

  it('their group go on where it stood, with all that came meanwhile', async () => {
    await topology.admin.client.xgroup('DESTROY', key('s'), 'g');
    await place.streams.producer.publishMany(
      's',
      range(20).map((payload) => ({ payload })),
    );
    await eventually(() => expect(new Set(seen)).toEqual(new Set(['before', ...range(20)])), { timeout: 10_000 });
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
  });

  it('the whole stream, or all data, take what is published from then on', async () => {
    await topology.admin.client.del(key('s'));
    await place.streams.producer.publish('s', 'after DEL');
    await eventually(() => expect(seen).toContain('after DEL'), { timeout: 10_000 });
    await topology.admin.deleteKeys(`${place.streams.namespace}:*`);
    await place.streams.producer.publish('s', 'after all was lost');
    await eventually(() => expect(seen).toContain('after all was lost'), { timeout: 10_000 });
  });
});

describeOn('standalone', 'streams whose key holds something else', { user: 'stream' }, (topology) => {
  const place = useConsumer(topology);
  const { key, seen } = place;

  it('do not spin while their key holds something else, and recover when it is gone', async () => {
    await topology.admin.client.del(key('s'));
    await topology.admin.client.set(key('s'), 'not a stream');
    const commands = async (): Promise<number> => {
      const { xreadgroup = 0, evalsha = 0 } = await topology.admin.commandCounts();
      return xreadgroup + evalsha;
    };
    const before = await commands();
    await eventually(async () => expect(await commands()).toBeGreaterThan(before));
    await expect(place.streams.producer.publish('s', 1)).rejects.toMatchObject({
      code: 'ERR_REDIS_COMMAND',
      reply: 'WRONGTYPE',
    });
    await topology.admin.client.del(key('s'));
    await place.streams.producer.publish('s', 'repaired');
    await eventually(() => expect(seen).toContain('repaired'), { timeout: 15_000 });
    // Some seconds; a reader that spins would have sent thousands.
    expect((await commands()) - before).toBeLessThan(300);
  });
});

describe('streams on a server that fails', () => {
  let server: Topology;
  let streams: TestStreams;

  beforeEach(async () => {
    server = await startOwn('standalone', { persistence: 'aof', user: 'stream' });
  });
  afterEach(async () => {
    await streams?.close();
    await server.stop();
  });

  it('lose nothing that was answered when Redis is killed and comes back, again and again', async () => {
    streams = await openStreams(server.connection, uniqueNamespace());
    const seen = new Map<unknown, number>();
    const { ready } = streams.runtime.consume({ stream: 's', group: 'g', ...QUICK }, async (body) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      seen.set(body, (seen.get(body) ?? 0) + 1);
    });
    streams.runtime.start();
    await ready;
    const answered: number[] = [];
    let next = 0;
    let publishing = true;
    const publisher = (async () => {
      while (publishing) {
        const n = next++;
        await streams.producer.publish('s', n).then(
          () => answered.push(n),
          () => undefined,
        );
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    })();
    const primary = await server.primary();
    for (const round of [1, 2]) {
      await eventually(() => expect(seen.size).toBeGreaterThan(40 * round), { timeout: 10_000 });
      await server.kill(primary);
      await server.restart(primary);
    }
    const before = seen.size;
    await eventually(() => expect(seen.size).toBeGreaterThan(before + 20), { timeout: 10_000 });
    publishing = false;
    await publisher;
    await eventually(() => expect(answered.filter((n) => !seen.has(n))).toEqual([]), { timeout: 10_000 });
    await eventually(async () => expect((await streams.admin.pending('s', 'g'))!.count).toBe(0), { timeout: 10_000 });
  });

  it('are replaced by no dead letter and no second run while Redis stands still for longer than a lease', async () => {
    streams = await openStreams(server.connection, uniqueNamespace());
    const seen: unknown[] = [];
    const hold = gate();
    streams.runtime.consume({ stream: 's', group: 'g', ...QUICK }, async (body, ctx) => {
      await hold.opened;
      seen.push([body, ctx.signal.aborted]);
    });
    streams.runtime.start();
    await streams.producer.publish('s', 1);
    await eventually(async () => expect((await streams.admin.pending('s', 'g'))!.count).toBe(1));
    const primary = await server.primary();
    server.freeze(primary);
    const frozenAt = performance.now();
    hold.open();
    await eventually(() => performance.now() - frozenAt > 2 * QUICK.lease);
    expect(seen).toEqual([[1, false]]);
    server.resume(primary);
    await eventually(async () => expect((await streams.admin.pending('s', 'g'))!.count).toBe(0), { timeout: 10_000 });
    await streams.producer.publish('s', 2);
    await eventually(
      () =>
        expect(seen).toEqual([
          [1, false],
          [2, false],
        ]),
      { timeout: 10_000 },
    );
  });

  it('keep an entry pending while Redis is full, and bury it as soon as there is memory', async () => {
    streams = await openStreams(server.connection, uniqueNamespace());
    const admin = await connectAdmin(server);
    try {
      let runs = 0;
      const hold = gate();
      streams.runtime.consume({ stream: 's', group: 'g', ...PATIENT, retry: { attempts: 1 } }, async () => {
        runs++;
        await hold.opened;
        throw new Error('no');
      });
      streams.runtime.start();
      await streams.producer.publish('s', 1);
      await eventually(() => expect(runs).toBe(1));
      await admin.client.config('SET', 'maxmemory', '1');
      await expect(streams.producer.publish('s', 2)).rejects.toMatchObject({ reply: 'OOM', outcome: 'refused' });
      const refusals = async (): Promise<number> =>
        Number(/cmdstat_xadd:.*rejected_calls=(\d+)/.exec(await admin.client.info('commandstats'))?.[1]);
      const before = await refusals();
      hold.open();
      await eventually(async () => expect(await refusals()).toBeGreaterThan(before));
      expect((await streams.admin.pending('s', 'g'))!.count).toBe(1);
      await admin.client.config('SET', 'maxmemory', '0');
      await eventually(async () => expect(await streams.admin.deadLetters('s', 'g').list()).toHaveLength(1), {
        timeout: 10_000,
      });
      expect(runs).toBe(1);
    } finally {
      admin.close();
    }
  });
});
