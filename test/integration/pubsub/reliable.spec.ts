import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { PubSubOptions } from '../../../libs/redis-patterns/src/pubsub/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOn, describeOnEachTopology } from '../../support/topologies.js';
import { gate, range } from '../stream/test-streams.js';
import { Flood, Heard, killSubscribers, openPubSub, type TestPubSub } from './test-pubsub.js';

describeOnEachTopology('reliable pub/sub', { user: 'pubsub' }, (topology) => {
  const opened: TestPubSub[] = [];
  let heard: Heard;
  let serial = 0;
  /** A channel of each test alone. */
  let channel: string;
  beforeEach(() => {
    heard = new Heard();
    channel = `kept:${++serial}`;
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((each) => each.close()));
  });

  async function open(more: object = {}, options: PubSubOptions = {}): Promise<TestPubSub> {
    const channels = { kept: { delivery: 'reliable' as const, ...more } };
    const each = await openPubSub(topology.connection, topology.namespace, { ...options, channels });
    opened.push(each);
    return each;
  }
  const key = (): string => `${topology.namespace}:pubsub:${channel}`;

  it.each([false, true])('loses nothing, in order, while its sockets are killed (sharded: %s)', async (sharded) => {
    const { pubsub } = await open({ sharded });
    const publisher = await open({ sharded });
    const ids: (string | undefined)[] = [];
    await pubsub.subscribe(
      channel,
      async (n, { id }) => {
        await Promise.resolve();
        ids.push(id);
        heard.onMessage(n);
      },
      { onGap: heard.onGap },
    );
    const flood = new Flood((n) => publisher.pubsub.publish(channel, n));
    for (let round = 1; round <= 3; round++) {
      await eventually(() => expect(heard.events.length).toBeGreaterThan(20 * round));
      await eventually(async () =>
        expect(await killSubscribers(topology.nodes, topology.namespace)).toBeGreaterThan(0),
      );
    }
    await flood.stop();
    await eventually(() => expect(heard.events).toEqual(flood.answered), { timeout: 10_000 });
    expect(new Set(ids).size).toBe(flood.answered.length);
    const ttl = await topology.admin.client.pttl(key());
    expect(ttl).toBeGreaterThan(3_500_000);
    expect(ttl).toBeLessThanOrEqual(3_600_000);
  });

  it('reads later what its handler had no room for, and holds no more than maxPending', async () => {
    const { pubsub } = await open({}, { maxPending: 10 });
    const hold = gate();
    const subscription = await pubsub.subscribe(
      channel,
      async (n) => {
        await hold.opened;
        heard.onMessage(n);
      },
      { onGap: heard.onGap },
    );
    await Promise.all(range(300).map((n) => pubsub.publish(channel, n)));
    await eventually(() => expect(subscription.pending).toBe(10));
    hold.open();
    let most = 0;
    await eventually(() => {
      most = Math.max(most, subscription.pending);
      expect(heard.events).toHaveLength(300);
    });
    expect(most).toBeLessThanOrEqual(10);
    expect(heard.events).toEqual(range(300));
  });

  it('reads what got lost on the way as soon as the next message shows it', async () => {
    const { pubsub } = await open();
    await pubsub.subscribe(channel, heard.onMessage, { onGap: heard.onGap });
    await pubsub.publish(channel, 1);
    await eventually(() => expect(heard.events).toEqual([1]));
    const last = async (): Promise<string> =>
      (await topology.admin.client.xrevrange(key(), '+', '-', 'COUNT', 1))[0]![0];
    // Kept, but never sent.
    await topology.admin.client.xadd(key(), '*', 'p', await last(), 'd', '2');
    await pubsub.publish(channel, 3);
    await eventually(() => expect(heard.events).toEqual([1, 2, 3]));
  });

  it('tells where what is kept has a hole itself: trimmed, or gone', async () => {
    const { pubsub } = await open({}, { maxPending: 1 });
    const hold = gate();
    await pubsub.subscribe(
      channel,
      async (n) => {
        if (n === 0) await hold.opened;
        heard.onMessage(n);
      },
      { onGap: heard.onGap },
    );
    const all = new Heard();
    await pubsub.subscribe(channel, all.onMessage, { maxPending: 100 });
    for (const n of range(10)) await pubsub.publish(channel, n);
    // They came over the same socket.
    await eventually(() => expect(all.events).toHaveLength(10));
    await topology.admin.client.xtrim(key(), 'MAXLEN', 3);
    hold.open();
    await eventually(() => expect(heard.events).toEqual([0, 1, 'gap: trimmed', 7, 8, 9]));
    const { from, to } = heard.gaps[0]!;
    expect(to.getTime()).toBeGreaterThanOrEqual(from.getTime());
    await topology.admin.client.del(key());
    await pubsub.publish(channel, 10);
    await eventually(() => expect(heard.events.slice(6)).toEqual(['gap: reset', 10]));
    await pubsub.publish(channel, 11);
    await eventually(() => expect(heard.events.slice(8)).toEqual([11]));
  });

  it('takes no offence at a channel that was forgotten after its ttl, but at one that was set back', async () => {
    const { pubsub } = await open({ ttl: '10s' });
    const client = topology.admin.client;
    const old = Date.now() - 60_000;
    await client.xadd(key(), `${old}-0`, 'p', '0-0', 'd', '"old"');
    await client.pexpire(key(), 60_000);
    await pubsub.subscribe(channel, heard.onMessage, { onGap: heard.onGap });
    await client.del(key());
    await pubsub.publish(channel, 'new');
    await eventually(() => expect(heard.events).toEqual(['new']));
    // A failover that lost the last messages, and a master whose clock is behind.
    await client.del(key());
    await client.xadd(key(), `${old}-0`, 'p', '0-0', 'd', '"old"');
    await pubsub.publish(channel, 'after');
    await eventually(() => expect(heard.events).toEqual(['new', 'gap: reset', 'after']));
  });

  it('brings what is reliable to subscribers of a pattern as well, as long as they are connected', async () => {
    const { pubsub } = await open();
    const publisher = await open();
    await pubsub.subscribe({ pattern: 'stock:*' }, heard.onMessage, { onGap: heard.onGap });
    await publisher.pubsub.publish('stock:1', 'plain');
    await publisher.pubsub.publish('stock:2', 'kept', { delivery: 'reliable' });
    await eventually(() => expect(heard.events).toEqual(['plain', 'kept']));
    await topology.admin.client.del(`${topology.namespace}:pubsub:stock:2`);
  });
});

describeOn('standalone', 'reliable pub/sub', { user: 'pubsub' }, (topology) => {
  it('reads what got lost on the way after a while of silence', async () => {
    const options: PubSubOptions = { channels: { quiet: { delivery: 'reliable' } } };
    const { pubsub, close } = await openPubSub(topology.connection, topology.namespace, options);
    const heard = new Heard();
    await pubsub.subscribe('quiet', heard.onMessage, { onGap: heard.onGap });
    // Kept, but never sent.
    await topology.admin.client.xadd(`${topology.namespace}:pubsub:quiet`, '*', 'p', '0-0', 'd', '1');
    await eventually(() => expect(heard.events).toEqual([1]), { timeout: 15_000 });
    await close();
  });
});
