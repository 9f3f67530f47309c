import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { PlainConnection } from '../../support/topologies.js';
import { eventually } from '../../support/eventually.js';
import { RedisAdmin } from '../../support/redis-admin.js';
import { describeOn, startProxies, type FaultProxy } from '../../support/topologies.js';
import { Heard, openPubSub, type TestPubSub } from './test-pubsub.js';

/** How often a sign of life is asked for, and how long it may take: what the documents promise, and a slow machine. */
const NOTICED = 500 + 2000 + 4000;

describeOn('cluster', 'a subscriber whose node is cut off', (topology) => {
  let fleet: Awaited<ReturnType<typeof startProxies>>;
  let subscriber: TestPubSub;
  let publisher: TestPubSub;
  const options = { channels: { sharded: { sharded: true } } };

  beforeEach(async () => {
    fleet = await startProxies(topology.nodes);
    const namespace = await topology.newNamespace();
    const nodes = fleet.proxies.map(({ host, port }) => ({ host, port }));
    const connection = { ...topology.connection, nodes } as PlainConnection;
    const through = { ioredis: { natMap: fleet.natMap }, pingInterval: '500ms', closeTimeout: '200ms' };
    subscriber = await openPubSub(connection, namespace, options, through);
    publisher = await openPubSub(topology.connection, namespace, options);
  });
  afterEach(async () => {
    await publisher.close();
    await subscriber.close();
    await fleet.close();
  });

  async function subscribe(channel: string): Promise<Heard> {
    const heard = new Heard();
    await subscriber.pubsub.subscribe(channel, heard.onMessage, { onGap: heard.onGap });
    await publisher.pubsub.publish(channel, 0);
    await eventually(() => expect(heard.events).toEqual([0]));
    return heard;
  }

  /** The proxy in front of the node that has the subscriber's socket. */
  async function home(): Promise<FaultProxy> {
    for (const { host, port } of topology.nodes) {
      const node = await RedisAdmin.connect({ ...topology.connection, mode: 'standalone', host, port } as never);
      const list = (await node.client.call('CLIENT', 'LIST')) as string;
      node.close();
      if (list.includes(` name=${subscriber.namespace}:default:subscriber:`)) return fleet.of({ port });
    }
    throw new Error('nobody listens');
  }

  /** Publishes until something of that is heard. */
  async function publishUntilHeard(channel: string, heard: Heard, timeout: number): Promise<void> {
    const before = heard.messages.length;
    let n = 0;
    await eventually(
      async () => {
        await publisher.pubsub.publish(channel, ++n);
        return heard.messages.length > before;
      },
      { timeout, interval: 50, what: `a message of ${channel}` },
    );
  }

  it('hears at another one, with one gap before the next message', async () => {
    const heard = await subscribe('plain');
    const proxy = await home();
    await proxy.set('drop');
    await publishUntilHeard('plain', heard, NOTICED);
    expect(proxy.mode).toBe('drop');
    expect(heard.reasons).toEqual(['disconnected']);
    expect(heard.events[1]).toBe('gap: disconnected');
  }, 30_000);

  it('hears sharded channels, and of changed keys, soon after their node is back, with one gap before the next message', async () => {
    const heard = await subscribe('sharded');
    const told: string[] = [];
    const prefix = `${subscriber.namespace}:cache:`;
    const feed = subscriber.connection.track(prefix, {
      armed: () => told.push('armed'),
      lost: () => told.push('lost'),
      invalidated: (keys) => told.push(...(keys ?? []).map(String)),
    });
    await eventually(() => expect(told).toEqual(['armed']));
    const proxy = await home();
    await proxy.set('drop');
    const deaf = (): boolean =>
      subscriber.connection.roles().every(({ role, ready }) => role !== 'subscriber' || ready === 0);
    await eventually(() => expect([told.at(-1), deaf()]).toEqual(['lost', true]), { timeout: NOTICED });
    // Attempts to reach it hang meanwhile, and each is given up.
    const { accepted } = proxy;
    await eventually(() => proxy.accepted > accepted + 2, { timeout: 15_000 });
    await proxy.set('pass');
    await publishUntilHeard('sharded', heard, NOTICED);
    expect(heard.reasons).toEqual(['disconnected']);
    expect(heard.events[1]).toBe('gap: disconnected');
    await eventually(() => expect(told).toEqual(['armed', 'lost', 'armed']), { timeout: NOTICED });
    const key = `${prefix}{k}`;
    await topology.admin.client.set(key, '1', 'PX', 60_000);
    await eventually(() => expect(told).toContain(key));
    feed.close();
  }, 40_000);
});
