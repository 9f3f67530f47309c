import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisUnavailableError } from '../../../libs/redis-patterns/src/connection/index.js';
import { StreamPublishError } from '../../../libs/redis-patterns/src/stream/index.js';
import { eventually } from '../../support/eventually.js';
import {
  connectAdmin,
  startOwn,
  startProxy,
  uniqueNamespace,
  type FaultProxy,
  type Topology,
} from '../../support/topologies.js';
import { gate, openStreams, QUICK, range, sorted, type TestStreams } from './test-streams.js';

/** Long enough that nothing in these specs is due to the end of a lease. */
const PATIENT = { ...QUICK, lease: 30_000 } as const;
describe('streams behind a network that fails', () => {
  let server: Topology;
  let proxy: FaultProxy;
  let streams: TestStreams;
  let direct: TestStreams;

  beforeEach(async () => {
    server = await startOwn('standalone', { user: 'stream' });
    proxy = await startProxy(server.nodes[0]!);
    streams = await openStreams(
      { mode: 'standalone', host: proxy.host, port: proxy.port, ...server.users?.app },
      uniqueNamespace(),
    );
    direct = await openStreams(server.connection, streams.namespace);
  });
  afterEach(async () => {
    await streams?.close();
    await direct?.close();
    await proxy?.close();
    await server.stop();
  });

  it('say what is known of a publish whose answer was lost, and never send it twice', async () => {
    await proxy.set('dropDown');
    const failure: unknown = await streams.producer.publish('s', 1).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StreamPublishError);
    expect(failure).toMatchObject({ code: 'ERR_STREAM_PUBLISH', outcome: 'unknown' });
    await proxy.set('refuse');
    await eventually(() => expect(streams.connection.stats().status).not.toBe('ready'));
    const notSent: unknown = await streams.producer.publish('s', 2).catch((error: unknown) => error);
    expect(notSent).toBeInstanceOf(RedisUnavailableError);
    expect(notSent).toMatchObject({ outcome: 'not-sent' });
    await proxy.set('pass');
    await eventually(() => expect(streams.connection.stats().status).toBe('ready'));
    await streams.producer.publish('s', 3);
    const seen: unknown[] = [];
    direct.runtime.consume({ stream: 's', group: 'g', ...QUICK }, (body, ctx) => void seen.push([body, ctx.messageId]));
    direct.runtime.start();
    await eventually(() => expect(seen).toHaveLength(2));
    expect(seen).toEqual([
      [1, (failure as StreamPublishError).messageId],
      [3, expect.any(String)],
    ]);
  });

  it('do not know of a message for replicas, either, when the socket dies before the answer', async () => {
    const wish = { replicaAck: { replicas: 1, timeout: 50 } };
    // None confirms it, but the socket is there.
    await expect(streams.producer.publish('s', 0, wish)).rejects.toMatchObject({ code: 'ERR_STREAM_REPLICAS' });
    await proxy.set('dropDown', { cut: true });
    await expect(streams.producer.publish('s', 1, wish)).rejects.toMatchObject({
      code: 'ERR_STREAM_PUBLISH',
      outcome: 'unknown',
    });
    await proxy.set('pass');
    expect((await direct.admin.info('s'))!.length).toBe(2);
  });

  it('send a publish while the connection comes back within the deadline', async () => {
    const slow = await openStreams(
      { mode: 'standalone', host: proxy.host, port: proxy.port, ...server.users?.app },
      uniqueNamespace(),
      {},
      { commandTimeout: '5s' },
    );
    try {
      await proxy.set('refuse');
      await eventually(() => expect(slow.connection.stats().status).not.toBe('ready'));
      const sent = slow.producer.publish('s', 1);
      await proxy.set('pass');
      expect(await sent).toMatch(/^\d+-\d+$/);
    } finally {
      await slow.close();
    }
  });

  it('recover entries whose delivery was lost on the way, long before their lease ends', async () => {
    const seen: unknown[] = [];
    const { ready } = streams.runtime.consume({ stream: 's', group: 'g', ...PATIENT, block: 1000 }, (body, ctx) => {
      seen.push([body, ctx.attempt, ctx.deliveryCount]);
    });
    streams.runtime.start();
    await ready;
    await streams.producer.publish('s', 1);
    await eventually(() => expect(seen).toEqual([[1, 1, 1]]));
    await eventually(async () => expect((await direct.admin.pending('s', 'g'))!.count).toBe(0));
    const { bytesLost } = proxy;
    await proxy.set('dropDown');
    await direct.producer.publish('s', 2, { headers: { padding: 'x'.repeat(1000) } });
    await eventually(async () => expect((await direct.admin.pending('s', 'g'))!.count).toBe(1));
    // It is delivered before it has come as far as the proxy.
    await eventually(() => proxy.bytesLost > bytesLost + 1000);
    await proxy.set('pass');
    await eventually(
      () =>
        expect(seen).toEqual([
          [1, 1, 1],
          [2, 1, 1],
        ]),
      { timeout: 8000 },
    );
    await eventually(async () => expect((await direct.admin.pending('s', 'g'))!.count).toBe(0));
  });

  it('leave a half-open socket by themselves', async () => {
    const seen: unknown[] = [];
    const { ready } = streams.runtime.consume(
      { stream: 's', group: 'g', ...PATIENT, block: 500 },
      (body) => void seen.push(body),
    );
    streams.runtime.start();
    await ready;
    await proxy.set('halfOpen');
    await direct.producer.publish('s', 1);
    await eventually(() => expect(seen).toEqual([1]), { timeout: 10_000 });
    await eventually(async () => expect((await direct.admin.pending('s', 'g'))!.count).toBe(0), { timeout: 10_000 });
  });

  it('send acknowledgements when Redis is back, and do not run what is done again', async () => {
    const hold = gate();
    let runs = 0;
    const { ready } = streams.runtime.consume({ stream: 's', group: 'g', ...PATIENT }, async () => {
      runs++;
      await hold.opened;
    });
    streams.runtime.start();
    await ready;
    await direct.producer.publishMany(
      's',
      range(5).map((payload) => ({ payload })),
    );
    await eventually(() => expect(runs).toBe(5));
    await proxy.set('refuse');
    hold.open();
    await eventually(() => expect(streams.connection.stats().status).not.toBe('ready'));
    expect((await direct.admin.pending('s', 'g'))!.count).toBe(5);
    await proxy.set('pass');
    await eventually(async () => expect((await direct.admin.pending('s', 'g'))!.count).toBe(0), { timeout: 10_000 });
    expect(runs).toBe(5);
  });

  it('leave no handler waiting for an acknowledgement when the application stops meanwhile', async () => {
    let outcome: unknown;
    let running = false;
    const { ready } = streams.runtime.consume({ stream: 's', group: 'g', ...PATIENT }, async (_, ctx) => {
      await proxy.set('refuse');
      running = true;
      outcome = await ctx.ack().catch((error: unknown) => error);
    });
    streams.runtime.start();
    await ready;
    await streams.producer.publish('s', 1);
    await eventually(() => expect(running).toBe(true));
    await streams.runtime.drain(1);
    await eventually(() => expect(outcome).toBeInstanceOf(RedisUnavailableError));
    await proxy.set('pass');
    expect((await direct.admin.pending('s', 'g'))!.count).toBe(1);
  });

  it('make one entry, and tell one id, of what is published under a dedupId again after each loss', async () => {
    const losses = [
      { mode: 'dropUp', cut: true },
      { mode: 'dropDown', cut: true },
      { mode: 'dropDown', cut: false },
      { mode: 'refuse', cut: false },
    ] as const;
    const admin = await connectAdmin(server);
    const until = async (dedupId: string): Promise<string> => {
      for (let n = 0; ; n++) {
        const id = await streams.producer.publish('s', dedupId, { dedupId }).catch(() => undefined);
        if (id !== undefined) return id;
        if (n === 2) await proxy.set('pass');
      }
    };
    for (const [n, { mode, cut }] of losses.entries()) {
      // Redis knows the script: what is lost is the work.
      await until(`known ${n}`);
      const lost = proxy.bytesLost;
      await proxy.set(mode, { cut });
      const published = until(`lost ${n}`);
      if (mode !== 'refuse') await eventually(() => expect(proxy.bytesLost).toBeGreaterThan(lost));
      if (cut) await proxy.set('pass');
      const id = await published;
      expect(await until(`lost ${n}`)).toBe(id);
      expect(await direct.producer.publish('s', 'x', { dedupId: `lost ${n}` })).toBe(id);
    }
    const entries = await admin.client.xrange(`${streams.namespace}:stream:s`, '-', '+');
    const bodies = entries.map(([, fields]) => fields[3]!);
    expect(bodies.toSorted()).toEqual(
      range(4)
        .flatMap((n) => [`"known ${n}"`, `"lost ${n}"`])
        .toSorted(),
    );
    admin.close();
  });

  it('move a message to the dead letters once, and to its retries once, however often the answer is lost', async () => {
    const hold = gate();
    let runs = 0;
    const retry = { attempts: 2, backoff: { base: 1, max: 1 } };
    const { ready } = streams.runtime.consume({ stream: 's', group: 'g', ...PATIENT, retry }, async () => {
      if (++runs <= 5) await hold.opened;
      throw new Error('no');
    });
    streams.runtime.start();
    await ready;
    await direct.producer.publishMany(
      's',
      range(5).map((payload) => ({ payload })),
    );
    await eventually(() => expect(runs).toBe(5));
    const lose = async (): Promise<void> => {
      const lost = proxy.bytesLost;
      await proxy.set('dropDown', { cut: true });
      await eventually(() => expect(proxy.bytesLost).toBeGreaterThan(lost));
      await proxy.set('pass');
    };
    const first = lose();
    hold.open();
    await first;
    await lose();
    const letters = direct.admin.deadLetters('s', 'g');
    await eventually(async () => expect(await letters.count()).toBe(5), { timeout: 10_000 });
    await eventually(async () => expect(await direct.admin.lag('s', 'g')).toMatchObject({ pending: 0, retries: 0 }));
    const found = await letters.list();
    expect(sorted(found.map(({ body }) => body))).toEqual(range(5));
    expect(new Set(found.map(({ attempts }) => attempts))).toEqual(new Set([2]));
    expect(runs).toBe(10);
  });
});
