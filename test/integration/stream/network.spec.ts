import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisUnavailableError } from '../../../libs/redis-patterns/src/connection/index.js';
import { StreamPublishError } from '../../../libs/redis-patterns/src/stream/index.js';
import { eventually } from '../../support/eventually.js';
import { startOwn, startProxy, uniqueNamespace, type FaultProxy, type Topology } from '../../support/topologies.js';
import { gate, openStreams, QUICK, range, type TestStreams } from './test-streams.js';

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
    await proxy.set('dropDown');
    await direct.producer.publish('s', 2);
    await eventually(async () => expect((await direct.admin.pending('s', 'g'))!.count).toBe(1));
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
});
