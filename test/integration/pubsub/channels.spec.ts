import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { z } from 'zod';
import { PubSubPayloadError, PubSubSubscribeError } from '../../../libs/redis-patterns/src/pubsub/index.js';
import type { PubSubContext, PubSubOptions, Subscription } from '../../../libs/redis-patterns/src/pubsub/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { gate, range } from '../stream/test-streams.js';
import { Heard, killSubscribers, openPubSub, type TestPubSub } from './test-pubsub.js';

describeOnEachTopology('pub/sub', { user: 'pubsub' }, (topology) => {
  const opened: TestPubSub[] = [];
  let heard: Heard;
  beforeEach(() => {
    heard = new Heard();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((each) => each.close()));
  });

  async function open(options: PubSubOptions = {}): Promise<TestPubSub> {
    const each = await openPubSub(topology.connection, topology.namespace, options);
    opened.push(each);
    return each;
  }
  /** The namespace is that of the suite: one user may use it, and patterns are allowed literally. */
  const key = (name: string): string => `${topology.namespace}:pubsub:${name}`;

  it('brings payloads with their types to channels, sharded channels and patterns', async () => {
    const { pubsub } = await open({ channels: { eu: { sharded: true } } });
    const contexts: PubSubContext[] = [];
    const value = { id: 7n, at: new Date(0), tags: new Set(['a']) };
    const subscriptions = [
      await pubsub.subscribe(['stock', 'a:b', 7], (payload, context) => {
        heard.onMessage(payload);
        contexts.push(context);
      }),
      await pubsub.subscribe({ pattern: 'stock:*' }, (_, context) => contexts.push(context), { name: 'all stock' }),
      await pubsub.subscribe('eu', (_, context) => contexts.push(context)),
    ];
    await pubsub.publish(['stock', 'a:b', 7], value);
    await pubsub.publish('eu', 1);
    await eventually(() => expect(contexts).toHaveLength(3));
    expect(heard.events).toEqual([value]);
    expect(contexts.map(({ channel, pattern }) => `${channel} ${pattern}`).toSorted()).toEqual([
      'eu undefined',
      'stock:a%3Ab:7 stock:*',
      'stock:a%3Ab:7 undefined',
    ]);
    expect(contexts.find(({ pattern }) => pattern)?.subscription).toBe('all stock');
    // ioredis takes the end of the last sharded channel of a socket for the end of all its channels.
    await subscriptions[2]!.close();
    await pubsub.publish(['stock', 'a:b', 7], 'after');
    await eventually(() => expect(heard.events).toEqual([value, 'after']));
    await Promise.all(subscriptions.map((subscription) => subscription.close()));
    const left = await Promise.all(
      topology.admin
        .masters()
        .map(async (master) => [
          await master.pubsub('NUMSUB', key('stock:a%3Ab:7')),
          await master.call('PUBSUB', 'SHARDNUMSUB', key('eu')),
        ]),
    );
    expect(left.flat(2).filter((count) => typeof count === 'number' && count > 0)).toEqual([]);
  });

  it.each(['at-most-once', 'reliable', 'sharded', 'sharded reliable'])(
    'never misses the first message after subscribe() has resolved: %s',
    async (kind) => {
      const settings = {
        delivery: kind.endsWith('reliable') ? ('reliable' as const) : ('at-most-once' as const),
        sharded: kind.startsWith('sharded'),
      };
      const { pubsub } = await open({ channels: { first: settings } });
      const other = await open({ channels: { first: settings } });
      await Promise.all(
        range(15).map(async (n) => {
          const each = new Heard();
          await pubsub.subscribe(['first', kind, n], each.onMessage);
          await other.pubsub.publish(['first', kind, n], n);
          await eventually(() => expect(each.events).toEqual([n]));
        }),
      );
    },
  );

  it.each(['at-most-once', 'sharded'])(
    'tells of a killed connection once, before the next message: %s',
    async (kind) => {
      const { pubsub } = await open({ channels: { news: { sharded: kind === 'sharded' } } });
      const publisher = await open({ channels: { news: { sharded: kind === 'sharded' } } });
      await pubsub.subscribe('news', heard.onMessage, { onGap: heard.onGap });
      const before = Date.now();
      for (let round = 1; round <= 2; round++) {
        await publisher.pubsub.publish('news', `before ${round}`);
        await eventually(() => expect(heard.events).toContain(`before ${round}`));
        expect(await killSubscribers(topology.nodes, topology.namespace)).toBeGreaterThan(0);
        await eventually(async () => {
          await publisher.pubsub.publish('news', `after ${round}`);
          expect(heard.events.at(-1)).toBe(`after ${round}`);
        });
      }
      const told = heard.events.filter((event, index) => event !== heard.events[index - 1]);
      expect(told).toEqual(['before 1', 'gap: disconnected', 'after 1', 'before 2', 'gap: disconnected', 'after 2']);
      for (const { from, to } of heard.gaps) {
        expect(from.getTime()).toBeGreaterThanOrEqual(before - 1);
        expect(to.getTime()).toBeGreaterThanOrEqual(from.getTime());
      }
    },
  );

  it('gives a serial handler one message at a time, in order, however long each takes, and n to others', async () => {
    const { pubsub } = await open();
    let running = 0;
    let most = 0;
    const handle = async (n: unknown): Promise<void> => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, Number(n) % 3));
      running--;
      heard.onMessage(n);
    };
    const serial = await pubsub.subscribe('order', handle);
    await Promise.all(range(40).map((n) => pubsub.publish('order', n)));
    await eventually(() => expect(heard.events).toEqual(range(40)));
    expect(most).toBe(1);
    await serial.close();
    const hold = gate();
    await pubsub.subscribe('order', () => (running++, hold.opened), { concurrency: 3 });
    await Promise.all(range(5).map((n) => pubsub.publish('order', n)));
    await eventually(() => expect(running).toBe(3));
    hold.open();
    await eventually(() => expect(running).toBe(5));
  });

  it('lets no more wait than maxPending, and tells what it dropped, where it is missing', async () => {
    const { pubsub } = await open({ maxPending: 3 });
    const newest = new Heard();
    const hold = gate();
    const slowly = (to: Heard) => async (n: unknown) => {
      if (n === 0) await hold.opened;
      to.onMessage(n);
    };
    const subscriptions: Subscription[] = [
      await pubsub.subscribe('busy', slowly(heard), { onGap: heard.onGap }),
      await pubsub.subscribe('busy', slowly(newest), { onGap: newest.onGap, overflow: 'drop-newest' }),
    ];
    const all = new Heard();
    await pubsub.subscribe('busy', all.onMessage);
    for (const n of range(10)) await pubsub.publish('busy', n);
    await eventually(() => expect(all.events).toEqual(range(10)));
    expect(subscriptions.map(({ pending }) => pending)).toEqual([3, 3]);
    hold.open();
    await eventually(() => expect(newest.events).toHaveLength(5));
    await pubsub.publish('busy', 10);
    await eventually(() => expect(newest.events).toEqual([0, 1, 2, 3, 'gap: overflow', 10]));
    await eventually(() => expect(heard.events).toEqual([0, 'gap: overflow', 7, 8, 9, 10]));
    expect([heard.gaps[0]!.missed, newest.gaps[0]!.missed]).toEqual([6, 6]);
  });

  it('notices a hole in what a sender has counted', async () => {
    const options: PubSubOptions = { channels: { counted: { sequence: true } } };
    const { pubsub } = await open(options);
    await pubsub.subscribe('counted', heard.onMessage, { onGap: heard.onGap });
    await pubsub.publish('counted', 'a');
    await eventually(() => expect(heard.events).toEqual(['a']));
    // What a node of a Cluster that lost its link to another one would do.
    const lost: string[] = [];
    const spy = new Heard();
    const other = await openPubSub(topology.connection, topology.namespace, options);
    opened.push(other);
    await other.pubsub.subscribe('counted', spy.onMessage);
    for (const client of topology.admin.masters().slice(0, 1)) {
      await client.publish(key('counted'), '#someone|1|"b"');
      await client.publish(key('counted'), '#someone|4|"c"');
      lost.push('#someone|2', '#someone|3');
    }
    await eventually(() => expect(heard.events).toEqual(['a', 'b', 'gap: sequence', 'c']));
    expect(heard.gaps[0]!.missed).toBe(lost.length);
  });

  it('checks payloads on both sides, lets foreign texts through, and tells of what it cannot read', async () => {
    const schema = z.object({ id: z.coerce.number() });
    const { pubsub } = await open({ channels: { checked: { schema }, foreign: { raw: true } } });
    await pubsub.subscribe('checked', heard.onMessage, { onGap: heard.onGap });
    await expect(pubsub.publish('checked', { id: 'x' })).rejects.toBeInstanceOf(PubSubPayloadError);
    await pubsub.publish('checked', { id: '7' });
    await eventually(() => expect(heard.messages).toEqual([{ id: 7 }]));
    await topology.admin.client.publish(key('checked'), '{"id":"x"}');
    await topology.admin.client.publish(key('checked'), 'no JSON');
    // In a Cluster two publishers may send by way of two nodes: what they publish has no common order.
    await eventually(() => expect(heard.gaps.reduce((sum, { missed }) => sum + missed!, 0)).toBe(2));
    await pubsub.publish('checked', { id: 8 });
    await eventually(() => expect(heard.messages).toEqual([{ id: 7 }, { id: 8 }]));
    expect(heard.events.slice(1, -1).every((event) => event === 'gap: unreadable')).toBe(true);
    const foreign = new Heard();
    await pubsub.subscribe('foreign', foreign.onMessage);
    await topology.admin.client.publish(key('foreign'), '>no|frame|{');
    await pubsub.publish('foreign', '#text');
    await eventually(() => expect(new Set(foreign.events)).toEqual(new Set(['#text', '>no|frame|{'])));
    await expect(pubsub.publish('foreign', { not: 'a text' })).rejects.toMatchObject({ code: 'ERR_PUBSUB_PAYLOAD' });
  });

  it('goes on after a handler or a gap listener has failed', async () => {
    const { pubsub } = await open({ maxPending: 1 });
    const hold = gate();
    await pubsub.subscribe(
      'bad',
      async (n) => {
        if (n === 0) await hold.opened;
        heard.onMessage(n);
        if (n !== 5) throw new Error('on purpose');
      },
      { onGap: () => Promise.reject(new Error('on purpose')) },
    );
    const all = new Heard();
    await pubsub.subscribe('bad', all.onMessage);
    for (const n of range(6)) await pubsub.publish('bad', n);
    await eventually(() => expect(all.events).toHaveLength(6));
    hold.open();
    await eventually(() => expect(heard.events).toEqual([0, 5]));
  });

  it('handles what has come before it ends, within the limit', async () => {
    const { pubsub, close } = await open({ drainTimeout: '5s' });
    const hold = gate();
    const signals: AbortSignal[] = [];
    const subscription = await pubsub.subscribe('end', async (n, { signal }) => {
      signals.push(signal);
      await hold.opened;
      heard.onMessage(n);
    });
    for (const n of range(3)) await pubsub.publish('end', n);
    await eventually(() => expect(subscription.pending).toBe(2));
    const closing = subscription.close();
    await pubsub.publish('end', 'late');
    hold.open();
    await closing;
    expect(heard.events).toEqual(range(3));
    const stuck = await open({ drainTimeout: 50 });
    await stuck.pubsub.subscribe('end', (_, { signal }) => {
      signals.push(signal);
      return new Promise(() => undefined);
    });
    await pubsub.publish('end', 'never done');
    await eventually(() => expect(signals).toHaveLength(4));
    await stuck.close();
    expect(signals[3]!.aborted).toBe(true);
    await expect(stuck.pubsub.subscribe('end', () => undefined)).rejects.toBeInstanceOf(PubSubSubscribeError);
    await close();
  });

  it('says which options contradict each other', async () => {
    const { pubsub } = await open({ channels: { kept: { delivery: 'reliable' } } });
    const contradictions = [
      pubsub.subscribe('kept', () => undefined, { delivery: 'at-most-once' }),
      pubsub.publish('kept', 1, { sharded: true }),
      pubsub.subscribe({ pattern: 'a*' }, () => undefined, { sharded: true }),
      pubsub.subscribe('x', () => undefined, { concurrency: 0 }),
      pubsub.subscribe('x', undefined as never),
      pubsub.subscribe('x', function* () {}),
    ];
    for (const each of contradictions) await expect(each).rejects.toMatchObject({ code: 'ERR_INVALID_OPTIONS' });
    const options = { channels: { a: { delivery: 'reliable', sequence: true }, b: { ttl: '1m' } } } as const;
    await expect(open(options)).rejects.toThrow(/pubsub\.channels\.a\.sequence[\s\S]*pubsub\.channels\.b\.ttl/);
  });
});
