import { tracingChannel } from 'node:diagnostics_channel';
import { expect, it } from '@jest/globals';
import type { TracedOperation } from '../../../libs/redis-patterns/src/telemetry/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { useStreams } from './stream-place.js';
import { gate, QUICK, range, sorted } from './test-streams.js';

describeOnEachTopology('streams whose consumers die or stop', { user: 'stream' }, (topology) => {
  const place = useStreams(topology);
  const { key, companion, pendingCount } = place;

  /** Counts what is told of messages that sweeps have received. */
  function listenToClaims(stream: string): { stop(): { messages: number; late: number } } {
    const { connection, context } = place.streams;
    const counts = { messages: 0, late: 0 };
    let askedAt = 0;
    const run = connection.run.bind(connection);
    connection.run = (operation) => {
      if (operation.name === 'stream.claim' && operation.key === key(stream)) askedAt = performance.now();
      return run(operation);
    };
    const hear = (message: unknown): void => {
      const { app, operation, name, batchSize = 0, startedAt } = message as TracedOperation;
      if (app !== context.telemetry.app || operation !== 'receive' || name !== stream) return;
      counts.messages += batchSize;
      if (startedAt > askedAt) counts.late++;
    };
    const { asyncEnd } = tracingChannel('redis-patterns:stream');
    asyncEnd.subscribe(hear);
    return {
      stop: () => {
        asyncEnd.unsubscribe(hear);
        return counts;
      },
    };
  }

  it('takes over what a dead consumer left behind, counts the start, and reaps the name', async () => {
    await place.streams.producer.publishMany(
      's',
      range(30).map((payload) => ({ payload })),
    );
    const { client } = topology.admin;
    await client.xgroup('CREATE', key('s'), 'g', '0');
    await client.xreadgroup('GROUP', 'g', 'dead', 'COUNT', 100, 'STREAMS', key('s'), '>');
    await client.zadd(companion('members', 's', 'g'), 1, 'dead');
    // Another stream: there the dead are behind many living ones.
    await place.streams.producer.publishMany(
      'long',
      range(300).map((payload) => ({ payload })),
    );
    await client.xgroup('CREATE', key('long'), 'g', '0');
    const read = (name: string, count: number) =>
      client.xreadgroup('GROUP', 'g', name, 'COUNT', count, 'STREAMS', key('long'), '>');
    await read('alive', 295);
    await read('dead', 5);
    const ids = (await client.xpending(key('long'), 'g', '-', '+', 295, 'alive')) as [string][];
    const renew = () => client.call('XCLAIM', key('long'), 'g', 'alive', 0, ...ids.map(([id]) => id), 'JUSTID');
    // And a third: there one has been started too often.
    const killer = await place.streams.producer.publish('killer', 'x');
    await client.xgroup('CREATE', key('killer'), 'g', '0');
    await client.xreadgroup('GROUP', 'g', 'dead', 'STREAMS', key('killer'), '>');
    await client.call('XCLAIM', key('killer'), 'g', 'dead', 0, killer, 'RETRYCOUNT', 4, 'JUSTID');

    const seen = new Map<unknown, string>();
    const far: unknown[] = [];
    const killed: unknown[] = [];
    const options = { ...QUICK, group: 'g', concurrency: 2, prefetch: 0, maxDeliveries: 4 } as const;
    const { runtime, admin } = place.streams;
    const told = listenToClaims('s');
    runtime.consume({ stream: 's', ...options }, (body, ctx) => {
      seen.set(body, `${ctx.attempt} ${ctx.deliveryCount}`);
    });
    runtime.consume({ stream: 'long', ...options }, (body) => void far.push(body));
    runtime.consume({ stream: 'killer', ...options }, (body) => void killed.push(body));
    runtime.start();
    await eventually(
      async () => {
        await renew();
        expect(sorted([...seen.keys()])).toEqual(range(30));
        expect(sorted(far)).toEqual([295, 296, 297, 298, 299]);
        expect(await admin.deadLetters('killer', 'g').list()).toMatchObject([
          { reason: 'max-deliveries', deliveries: 4 },
        ]);
      },
      { timeout: 15_000, interval: 100 },
    );
    // What was taken over was received when it was asked for, not when the answer had come.
    const { messages, late } = told.stop();
    expect([messages >= 30, late]).toEqual([true, 0]);
    expect(new Set(seen.values())).toEqual(new Set(['1 2']));
    expect(killed).toEqual([]);
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
    // The name of a consumer that is gone does not stay for ever.
    await eventually(async () => expect((await admin.groups('s'))[0]!.consumers).toBe(1), { timeout: 10_000 });
  });

  it('keeps what waits in a process from all others, however long the message before it takes', async () => {
    const { runtime, anotherRuntime, producer } = place.streams;
    const seen: string[] = [];
    const began = performance.now();
    const options = { stream: 's', group: 'g', ...QUICK } as const;
    await producer.publishMany(
      's',
      range(5).map((payload) => ({ payload })),
    );
    runtime.consume({ ...options, concurrency: 1, prefetch: 4 }, async (body) => {
      if (body === 0) await eventually(() => performance.now() - began > 2.5 * QUICK.lease);
      seen.push(`slow ${String(body)}`);
    });
    runtime.start();
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(5));
    const idle = anotherRuntime();
    idle.consume(options, (body) => void seen.push(`idle ${String(body)}`));
    idle.start();
    await eventually(() => expect(seen).toEqual(range(5).map((n) => `slow ${n}`)), { timeout: 10_000 });
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
  });

  it('lets running handlers end when it drains, starts nothing, and hands over the rest', async () => {
    const hold = gate();
    const started: unknown[] = [];
    const done: unknown[] = [];
    await place.streams.producer.publishMany(
      's',
      range(10).map((payload) => ({ payload })),
    );
    // No lease ends, however slow the machine: what runs elsewhere has been handed over.
    const options = { stream: 's', group: 'g', ...QUICK, lease: '30s' } as const;
    place.streams.runtime.consume({ ...options, concurrency: 2, prefetch: 3 }, async (body) => {
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
    other.consume(options, (body, ctx) => void seenElsewhere.set(body, ctx.deliveryCount));
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
