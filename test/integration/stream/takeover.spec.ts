import { expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { useStreams } from './stream-place.js';
import { gate, QUICK, range, sorted } from './test-streams.js';

describeOnEachTopology('streams whose consumers die or stop', { user: 'stream' }, (topology) => {
  const place = useStreams(topology);
  const { key, companion, pendingCount } = place;

  it('takes over what a dead consumer left behind, keeps its attempts, and counts the start', async () => {
    const ids = await place.streams.producer.publishMany(
      's',
      range(30).map((payload) => ({ payload })),
    );
    await topology.admin.client.xgroup('CREATE', key('s'), 'g', '0');
    await topology.admin.client.xreadgroup('GROUP', 'g', 'dead', 'COUNT', 100, 'STREAMS', key('s'), '>');
    await topology.admin.client.hset(companion('tries', 's', 'g'), ids[5]!.id!, 3);
    const seen = new Map<unknown, [attempt: number, deliveries: number]>();
    place.streams.runtime.consume({ stream: 's', group: 'g', ...QUICK, concurrency: 2, prefetch: 0 }, (body, ctx) => {
      seen.set(body, [ctx.attempt, ctx.deliveryCount]);
    });
    place.streams.runtime.start();
    await eventually(() => expect(seen.size).toBe(30), { timeout: 10_000 });
    expect(seen.get(4)).toEqual([1, 2]);
    expect(seen.get(5)).toEqual([4, 2]);
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
    // The name of a consumer that is gone does not stay for ever.
    const members = await topology.admin.client.zrange(companion('members', 's', 'g'), '0', '-1');
    expect(members).toHaveLength(1);
  });

  it('reaches abandoned entries behind many living ones', async () => {
    await place.streams.producer.publishMany(
      's',
      range(300).map((payload) => ({ payload })),
    );
    await topology.admin.client.xgroup('CREATE', key('s'), 'g', '0');
    const read = (name: string, count: number) =>
      topology.admin.client.xreadgroup('GROUP', 'g', name, 'COUNT', count, 'STREAMS', key('s'), '>');
    await read('alive', 295);
    await read('dead', 5);
    const ids = (await topology.admin.client.xpending(key('s'), 'g', '-', '+', 295, 'alive')) as [string][];
    const seen: unknown[] = [];
    place.streams.runtime.consume(
      { stream: 's', group: 'g', ...QUICK, concurrency: 1, prefetch: 0 },
      (body) => void seen.push(body),
    );
    place.streams.runtime.start();
    await eventually(
      async () => {
        await topology.admin.client.call('XCLAIM', key('s'), 'g', 'alive', 0, ...ids.map(([id]) => id), 'JUSTID');
        expect(sorted(seen)).toEqual([295, 296, 297, 298, 299]);
      },
      { timeout: 10_000, interval: 100 },
    );
  });

  it('makes a dead letter, without another run, of what has been started too often', async () => {
    const id = await place.streams.producer.publish('s', 'killer');
    await topology.admin.client.xgroup('CREATE', key('s'), 'g', '0');
    await topology.admin.client.xreadgroup('GROUP', 'g', 'dead', 'STREAMS', key('s'), '>');
    await topology.admin.client.call('XCLAIM', key('s'), 'g', 'dead', 0, id, 'RETRYCOUNT', 4, 'JUSTID');
    let runs = 0;
    place.streams.runtime.consume({ stream: 's', group: 'g', ...QUICK, maxDeliveries: 4 }, () => void runs++);
    place.streams.runtime.start();
    await eventually(
      async () =>
        expect(await place.streams.admin.deadLetters('s', 'g').list()).toMatchObject([
          { reason: 'max-deliveries', deliveries: 4 },
        ]),
      { timeout: 10_000 },
    );
    expect(runs).toBe(0);
  });

  it('lets running handlers end when it drains, starts nothing, and hands over the rest', async () => {
    const hold = gate();
    const started: unknown[] = [];
    const done: unknown[] = [];
    await place.streams.producer.publishMany(
      's',
      range(10).map((payload) => ({ payload })),
    );
    place.streams.runtime.consume({ stream: 's', group: 'g', ...QUICK, concurrency: 2, prefetch: 3 }, async (body) => {
      started.push(body);
      await hold.opened;
      done.push(body);
    });
    place.streams.runtime.start();
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(5));
    const draining = place.streams.runtime.drain('10s');
    expect(place.streams.runtime.state).toBe('draining');
    const seenElsewhere = new Map<unknown, number>();
    const other = place.streams.anotherRuntime();
    other.consume(
      { stream: 's', group: 'g', ...QUICK },
      (body, ctx) => void seenElsewhere.set(body, ctx.deliveryCount),
    );
    other.start();
    await eventually(() => expect(seenElsewhere.size).toBe(8), { timeout: 10_000 });
    expect(started).toEqual([0, 1]);
    hold.open();
    await draining;
    expect(place.streams.runtime.state).toBe('stopped');
    expect(done).toEqual([0, 1]);
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
    expect(sorted([...seenElsewhere.keys()])).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
    const members = await topology.admin.client.zrange(companion('members', 's', 'g'), '0', '-1');
    expect(members).toHaveLength(1);
  });

  it('drains an idle reader at once, although it blocks for seconds', async () => {
    const { ready } = place.streams.runtime.consume({ stream: 's', group: 'g', block: 5000 }, () => undefined);
    place.streams.runtime.start();
    await ready;
    const socketName = `${place.streams.namespace}:default:blocking:1`;
    await eventually(async () => {
      const lists = await Promise.all(topology.admin.masters().map((node) => node.client('LIST')));
      expect(lists.join('\n')).toMatch(new RegExp(`name=${socketName}.*cmd=xreadgroup`));
    });
    const before = performance.now();
    await place.streams.runtime.drain();
    expect(performance.now() - before).toBeLessThan(400);
    expect((await place.streams.admin.groups('s'))[0]!.consumers).toBe(0);
  });

  it('aborts handlers that outlast the drain, whose messages run elsewhere without a lost attempt', async () => {
    const reasons: unknown[] = [];
    place.streams.runtime.consume({ stream: 's', group: 'g', ...QUICK }, async (_, ctx) => {
      await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()));
      reasons.push((ctx.signal.reason as { code: string }).code);
      ctx.signal.throwIfAborted();
    });
    place.streams.runtime.start();
    await place.streams.producer.publish('s', 1);
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(1));
    await place.streams.runtime.drain(50);
    expect(reasons).toEqual(['ERR_STREAM_DRAINED']);
    const seen: unknown[] = [];
    const other = place.streams.anotherRuntime();
    other.consume({ stream: 's', group: 'g', ...QUICK }, (body, ctx) => void seen.push([body, ctx.attempt]));
    other.start();
    await eventually(() => expect(seen).toEqual([[1, 1]]));
  });
});
