import { afterEach, beforeEach, expect, it } from '@jest/globals';
import {
  defineStream,
  LeaseLostError,
  MessageSettledError,
  RetryMessageError,
  StreamPublishError,
  UnrecoverableMessageError,
  type StreamContext,
} from '../../../libs/redis-patterns/src/stream/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { gate, openStreams, QUICK, range, sorted, type TestStreams } from './test-streams.js';

describeOnEachTopology('streams', { user: 'stream' }, (topology) => {
  let streams: TestStreams;

  beforeEach(async () => {
    streams = await openStreams(topology.connection, await topology.newNamespace());
  });

  afterEach(() => streams.close());

  const key = (name: string): string => `${streams.namespace}:stream:${name}`;
  const companion = (role: string, name: string, group: string): string =>
    `${streams.namespace}:stream~${role}:{${key(name)}}:${group}`;
  const pendingCount = async (stream: string, group: string): Promise<number | undefined> =>
    (await streams.admin.pending(stream, group))?.count;

  it('runs a published message once in each group and acknowledges it', async () => {
    const seen: unknown[] = [];
    for (const group of ['billing', 'shipping']) {
      streams.runtime.consume({ stream: 'orders', group, ...QUICK }, (body, ctx) => {
        seen.push([group, body, ctx.type, ctx.key, { ...ctx.headers }, ctx.attempt, ctx.deliveryCount, ctx.stream]);
      });
    }
    streams.runtime.start();
    const at = new Date(0);
    await streams.producer.publish('orders', { id: 7, at }, { type: 'placed', key: '7', headers: { trace: 'ü' } });
    await eventually(() => expect(seen).toHaveLength(2));
    const rest = [{ id: 7, at }, 'placed', '7', { trace: 'ü' }, 1, 1, 'orders'];
    expect(seen).toEqual(
      expect.arrayContaining([
        ['billing', ...rest],
        ['shipping', ...rest],
      ]),
    );
    for (const group of ['billing', 'shipping']) {
      await eventually(async () => expect(await pendingCount('orders', group)).toBe(0));
    }
    expect(await streams.admin.info('orders')).toMatchObject({ length: 1, groups: 2 });
  });

  it('lays out an entry with all fields in one order, and every key in the slot of the stream with a bound', async () => {
    const id = await streams.producer.publish('orders', { a: 1 });
    const [entry] = await topology.admin.client.xrange(key('orders'), '-', '+');
    expect(entry![0]).toBe(id);
    const [type, , data, json, mid, uuid, ...rest] = entry![1];
    expect([type, data, json, mid, rest]).toEqual(['type', 'data', '{"a":1}', 'mid', ['key', '', 'headers', '']]);
    expect(uuid).toMatch(/^[0-9a-f-]{36}$/);
    const { ready } = streams.runtime.consume(
      { stream: 'orders', group: 'g:1', ...QUICK, retry: { attempts: 1 } },
      () => {
        throw new Error('no');
      },
    );
    streams.runtime.start();
    await ready;
    await eventually(async () => expect(await streams.admin.deadLetters('orders', 'g:1').list()).toHaveLength(1));
    await eventually(async () =>
      expect(await topology.admin.keys(`${streams.namespace}:*`)).toEqual(
        [key('orders'), ...['dlq', 'floor', 'members'].map((role) => companion(role, 'orders', 'g%3A1'))].toSorted(),
      ),
    );
    for (const role of ['dlq', 'floor', 'members']) {
      expect(await topology.admin.client.pttl(companion(role, 'orders', 'g%3A1'))).toBeGreaterThan(0);
    }
  });

  it('starts a new group at the beginning by default, at the end, at an id, or at a time', async () => {
    const ids: string[] = [];
    for (const n of range(3)) ids.push(await streams.producer.publish('s', n));
    const seen: Record<string, unknown[]> = { all: [], end: [], id: [], time: [] };
    const at = new Date(Number(ids[1]!.split('-')[0]));
    const start = { all: undefined, end: '$', id: ids[0]!, time: at };
    const all = Object.entries(start).map(([group, startFrom]) =>
      streams.runtime.consume(
        { stream: 's', group, ...QUICK, ...(startFrom && { startFrom }), concurrency: 1 },
        (body) => void seen[group]!.push(body),
      ),
    );
    streams.runtime.start();
    await Promise.all(all.map(({ ready }) => ready));
    await streams.producer.publish('s', 'new');
    await eventually(() => {
      expect(seen.all).toEqual([0, 1, 2, 'new']);
      expect(seen.end).toEqual(['new']);
      expect(seen.id).toEqual([1, 2, 'new']);
      // Entries of the same millisecond belong to it.
      expect(seen.time).toEqual(expect.arrayContaining([1, 2, 'new']));
    });
  });

  it('runs no more handlers at a time than it may, and holds no more entries than it has room for', async () => {
    const hold = gate();
    let running = 0;
    let most = 0;
    let done = 0;
    await streams.producer.publishMany(
      's',
      range(100).map((payload) => ({ payload })),
    );
    streams.runtime.consume({ stream: 's', group: 'g', ...QUICK, concurrency: 3, prefetch: 4 }, async () => {
      most = Math.max(most, ++running);
      await hold.opened;
      running--;
      done++;
    });
    streams.runtime.start();
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(7));
    await eventually(async () => expect((await streams.admin.groups('s'))[0]!.lag).toBe(93));
    hold.open();
    await eventually(() => expect(done).toBe(100));
    expect(most).toBe(3);
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
  });

  it('holds no more payload than maxBufferedBytes, however long the backlog', async () => {
    const hold = gate();
    let done = 0;
    const payload = 'x'.repeat(1000);
    await streams.producer.publishMany(
      's',
      range(200).map(() => ({ payload })),
    );
    streams.runtime.consume(
      { stream: 's', group: 'g', ...QUICK, concurrency: 100, prefetch: 100, maxBufferedBytes: 10_000 },
      async () => {
        await hold.opened;
        done++;
      },
    );
    streams.runtime.start();
    await eventually(async () => expect(await pendingCount('s', 'g')).toBeGreaterThan(5));
    // The first read does not know the sizes yet and guesses 256 bytes; none comes after it.
    const held = await pendingCount('s', 'g');
    expect(held).toBeLessThanOrEqual(40);
    hold.open();
    await eventually(() => expect(done).toBe(200));
  });

  it('routes by type, and leaves the rest to the handler without one', async () => {
    const seen: unknown[] = [];
    const base = { stream: 'orders', group: 'g', ...QUICK } as const;
    streams.runtime.consume({ ...base, type: 'placed' }, (body) => void seen.push(['placed', body]));
    streams.runtime.consume({ ...base, type: ['paid', 'refunded'] }, (body) => void seen.push(['money', body]));
    streams.runtime.consume(base, (body) => void seen.push(['rest', body]));
    streams.runtime.start();
    const types = ['placed', 'paid', 'refunded', 'lost', undefined];
    for (const [n, type] of types.entries()) await streams.producer.publish('orders', n, type ? { type } : {});
    await eventually(() => expect(seen).toHaveLength(5));
    expect(seen).toEqual(
      expect.arrayContaining([
        ['placed', 0],
        ['money', 1],
        ['money', 2],
        ['rest', 3],
        ['rest', 4],
      ]),
    );
  });

  it('makes a dead letter of a type that nobody takes, and of a payload that cannot be decoded', async () => {
    streams.runtime.consume({ stream: 's', group: 'g', type: 'known', ...QUICK }, () => undefined);
    streams.runtime.start();
    await streams.producer.publish('s', 1, { type: 'alien' });
    await topology.admin.client.xadd(key('s'), '*', 'data', '{"broken', 'type', 'known');
    await topology.admin.client.xadd(key('s'), '*', 'something', 'else', 'type', 'known');
    const list = () => streams.admin.deadLetters('s', 'g').list();
    await eventually(async () => expect(await list()).toHaveLength(3));
    expect((await list()).map(({ reason }) => reason).toSorted()).toEqual(['decode', 'decode', 'unknown-type']);
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
  });

  it('runs a failing message again after a pause, then makes exactly one dead letter of it', async () => {
    const attempts: number[] = [];
    streams.runtime.consume({ stream: 's', group: 'g', ...QUICK, retry: { ...QUICK.retry, attempts: 3 } }, (_, ctx) => {
      attempts.push(ctx.attempt);
      throw new TypeError(`attempt ${ctx.attempt}`);
    });
    streams.runtime.consume({ stream: 's', group: 'other', ...QUICK }, () => undefined);
    streams.runtime.start();
    const id = await streams.producer.publish('s', { n: 1 }, { type: 't', key: 'k', headers: { h: '1' } });
    const list = () => streams.admin.deadLetters('s', 'g').list();
    await eventually(async () => expect(await list()).toHaveLength(1));
    expect(attempts).toEqual([1, 2, 3]);
    expect((await list())[0]).toMatchObject({
      originalId: id,
      type: 't',
      key: 'k',
      headers: { h: '1' },
      body: { n: 1 },
      reason: 'max-attempts',
      error: 'TypeError: attempt 3',
      attempts: 3,
      deliveries: 1,
    });
    expect(Math.abs((await list())[0]!.at.getTime() - Date.now())).toBeLessThan(60_000);
    expect(await pendingCount('s', 'g')).toBe(0);
    expect(await streams.admin.deadLetters('s', 'other').list()).toEqual([]);
    expect(await topology.admin.client.exists(companion('tries', 's', 'g'))).toBe(0);
  });

  it('acknowledges a message that succeeds at a later attempt, and forgets its attempts', async () => {
    let runs = 0;
    const attempts = new Set<string | null>();
    streams.runtime.consume(
      { stream: 's', group: 'g', ...QUICK, retry: { backoff: { base: 50, max: 50 } } },
      async (_, ctx) => {
        if (ctx.attempt > 1) attempts.add(await topology.admin.client.hget(companion('tries', 's', 'g'), ctx.id));
        if (++runs < 3) throw new Error('not yet');
      },
    );
    streams.runtime.start();
    await streams.producer.publish('s', 1);
    await eventually(() => expect(runs).toBe(3));
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
    await eventually(async () => expect(await topology.admin.client.exists(companion('tries', 's', 'g'))).toBe(0));
    expect(attempts.has('2')).toBe(true);
  });

  it('obeys what a handler throws: another delay, or no further attempt', async () => {
    const seen: unknown[] = [];
    const starts: number[] = [];
    streams.runtime.consume(
      { stream: 's', group: 'g', ...QUICK, retry: { backoff: { base: '1h', max: '1h' } } },
      (body, ctx) => {
        seen.push([body, ctx.attempt]);
        if (body === 'never') throw new UnrecoverableMessageError('no such order');
        starts.push(performance.now());
        if (ctx.attempt === 1) throw new RetryMessageError({ delay: 150 });
      },
    );
    streams.runtime.start();
    await streams.producer.publish('s', 'never');
    await streams.producer.publish('s', 'later');
    await eventually(() => expect(seen).toHaveLength(3));
    expect(seen).toEqual(
      expect.arrayContaining([
        ['never', 1],
        ['later', 1],
        ['later', 2],
      ]),
    );
    expect(starts[1]! - starts[0]!).toBeGreaterThanOrEqual(145);
    await eventually(async () =>
      expect(await streams.admin.deadLetters('s', 'g').list()).toMatchObject([
        { reason: 'unrecoverable', error: 'UnrecoverableMessageError: no such order' },
      ]),
    );
  });

  it('lets a handler settle its message itself', async () => {
    const seen: string[] = [];
    const conflicts: unknown[] = [];
    const settle: Record<string, (ctx: StreamContext) => Promise<void>> = {
      ack: async (ctx) => {
        await ctx.ack();
        await ctx.ack();
        seen.push(`acked ${(await streams.admin.pending('s', 'g'))!.count}`);
        await ctx.retry().catch((error: unknown) => conflicts.push(error));
        throw new Error('too late to matter');
      },
      retry: async (ctx) => {
        if (ctx.attempt === 1) await ctx.retry({ delay: 10 });
        seen.push(`retry ${ctx.attempt}`);
      },
      deadLetter: async (ctx) => {
        await ctx.deadLetter('by hand');
        seen.push('buried');
      },
      notAwaited: async (ctx) => {
        void ctx.deadLetter('by hand, not awaited');
      },
    };
    streams.runtime.consume({ stream: 's', group: 'g', ...QUICK, concurrency: 1 }, (body, ctx) =>
      settle[body as string]!(ctx),
    );
    streams.runtime.start();
    await streams.producer.publish('s', 'ack');
    await eventually(() => expect(seen).toEqual(['acked 0']));
    expect(conflicts[0]).toBeInstanceOf(MessageSettledError);
    for (const how of ['retry', 'deadLetter', 'notAwaited']) await streams.producer.publish('s', how);
    await eventually(() => expect(new Set(seen)).toEqual(new Set(['acked 0', 'retry 1', 'retry 2', 'buried'])));
    await eventually(async () =>
      expect(await streams.admin.deadLetters('s', 'g').list()).toMatchObject([
        { reason: 'handler', error: 'by hand, not awaited' },
        { reason: 'handler', error: 'by hand' },
      ]),
    );
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
  });

  it('tells a run that has lost its lease, which then can settle nothing but an acknowledgement', async () => {
    const failures: unknown[] = [];
    const lost = gate();
    streams.runtime.consume({ stream: 's', group: 'g', ...QUICK }, async (_, ctx) => {
      await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()));
      failures.push(ctx.signal.reason);
      for (const late of [() => ctx.retry(), () => ctx.deadLetter('x'), () => ctx.extend()]) {
        await late().catch((error: unknown) => failures.push(error));
      }
      lost.open();
      throw new Error('aborted');
    });
    streams.runtime.start();
    const id = await streams.producer.publish('s', 1);
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(1));
    await topology.admin.client.call('XCLAIM', key('s'), 'g', 'thief', 0, id, 'JUSTID');
    await lost.opened;
    expect(failures).toHaveLength(4);
    for (const failure of failures) expect(failure).toBeInstanceOf(LeaseLostError);
    expect((await streams.admin.pending('s', 'g'))!.consumers).toEqual([{ name: 'thief', count: 1 }]);
    expect(await streams.admin.deadLetters('s', 'g').list()).toEqual([]);
  });

  it('goes on with a message that is trimmed from the stream while it runs, and keeps its dead letter', async () => {
    const hold = gate();
    streams.runtime.consume({ stream: 's', group: 'g', ...QUICK, retry: { attempts: 1 } }, async () => {
      await hold.opened;
      throw new Error('after the trim');
    });
    streams.runtime.start();
    const id = await streams.producer.publish('s', { kept: true });
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(1));
    await topology.admin.client.xtrim(key('s'), 'MAXLEN', 0);
    hold.open();
    await eventually(async () =>
      expect(await streams.admin.deadLetters('s', 'g').list()).toMatchObject([
        { originalId: id, body: { kept: true } },
      ]),
    );
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
  });

  it('takes over what a dead consumer left behind, keeps its attempts, and counts the start', async () => {
    const ids = await streams.producer.publishMany(
      's',
      range(30).map((payload) => ({ payload })),
    );
    await topology.admin.client.xgroup('CREATE', key('s'), 'g', '0');
    await topology.admin.client.xreadgroup('GROUP', 'g', 'dead', 'COUNT', 100, 'STREAMS', key('s'), '>');
    await topology.admin.client.hset(companion('tries', 's', 'g'), ids[5]!.id!, 3);
    const seen = new Map<unknown, [attempt: number, deliveries: number]>();
    streams.runtime.consume({ stream: 's', group: 'g', ...QUICK, concurrency: 2, prefetch: 0 }, (body, ctx) => {
      seen.set(body, [ctx.attempt, ctx.deliveryCount]);
    });
    streams.runtime.start();
    await eventually(() => expect(seen.size).toBe(30), { timeout: 10_000 });
    expect(seen.get(4)).toEqual([1, 2]);
    expect(seen.get(5)).toEqual([4, 2]);
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
    // The name of a consumer that is gone does not stay for ever.
    const members = await topology.admin.client.zrange(companion('members', 's', 'g'), '0', '-1');
    expect(members).toHaveLength(1);
  });

  it('reaches abandoned entries behind many living ones', async () => {
    await streams.producer.publishMany(
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
    streams.runtime.consume(
      { stream: 's', group: 'g', ...QUICK, concurrency: 1, prefetch: 0 },
      (body) => void seen.push(body),
    );
    streams.runtime.start();
    await eventually(
      async () => {
        await topology.admin.client.call('XCLAIM', key('s'), 'g', 'alive', 0, ...ids.map(([id]) => id), 'JUSTID');
        expect(sorted(seen)).toEqual([295, 296, 297, 298, 299]);
      },
      { timeout: 10_000, interval: 100 },
    );
  });

  it('makes a dead letter, without another run, of what has been started too often', async () => {
    const id = await streams.producer.publish('s', 'killer');
    await topology.admin.client.xgroup('CREATE', key('s'), 'g', '0');
    await topology.admin.client.xreadgroup('GROUP', 'g', 'dead', 'STREAMS', key('s'), '>');
    await topology.admin.client.call('XCLAIM', key('s'), 'g', 'dead', 0, id, 'RETRYCOUNT', 4, 'JUSTID');
    let runs = 0;
    streams.runtime.consume({ stream: 's', group: 'g', ...QUICK, maxDeliveries: 4 }, () => void runs++);
    streams.runtime.start();
    await eventually(
      async () =>
        expect(await streams.admin.deadLetters('s', 'g').list()).toMatchObject([
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
    await streams.producer.publishMany(
      's',
      range(10).map((payload) => ({ payload })),
    );
    streams.runtime.consume({ stream: 's', group: 'g', ...QUICK, concurrency: 2, prefetch: 3 }, async (body) => {
      started.push(body);
      await hold.opened;
      done.push(body);
    });
    streams.runtime.start();
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(5));
    const draining = streams.runtime.drain('10s');
    expect(streams.runtime.state).toBe('draining');
    const seenElsewhere = new Map<unknown, number>();
    const other = streams.anotherRuntime();
    other.consume(
      { stream: 's', group: 'g', ...QUICK },
      (body, ctx) => void seenElsewhere.set(body, ctx.deliveryCount),
    );
    other.start();
    await eventually(() => expect(seenElsewhere.size).toBe(8), { timeout: 10_000 });
    expect(started).toEqual([0, 1]);
    hold.open();
    await draining;
    expect(streams.runtime.state).toBe('stopped');
    expect(done).toEqual([0, 1]);
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
    expect(sorted([...seenElsewhere.keys()])).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
    const members = await topology.admin.client.zrange(companion('members', 's', 'g'), '0', '-1');
    expect(members).toHaveLength(1);
  });

  it('drains an idle reader at once, although it blocks for seconds', async () => {
    const { ready } = streams.runtime.consume({ stream: 's', group: 'g', block: 5000 }, () => undefined);
    streams.runtime.start();
    await ready;
    const socketName = `${streams.namespace}:default:blocking:1`;
    await eventually(async () => {
      const lists = await Promise.all(topology.admin.masters().map((node) => node.client('LIST')));
      expect(lists.join('\n')).toMatch(new RegExp(`name=${socketName}.*cmd=xreadgroup`));
    });
    const before = performance.now();
    await streams.runtime.drain();
    expect(performance.now() - before).toBeLessThan(400);
    expect((await streams.admin.groups('s'))[0]!.consumers).toBe(0);
  });

  it('aborts handlers that outlast the drain, whose messages run elsewhere without a lost attempt', async () => {
    const reasons: unknown[] = [];
    streams.runtime.consume({ stream: 's', group: 'g', ...QUICK }, async (_, ctx) => {
      await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()));
      reasons.push((ctx.signal.reason as { code: string }).code);
      ctx.signal.throwIfAborted();
    });
    streams.runtime.start();
    await streams.producer.publish('s', 1);
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(1));
    await streams.runtime.drain(50);
    expect(reasons).toEqual(['ERR_STREAM_DRAINED']);
    const seen: unknown[] = [];
    const other = streams.anotherRuntime();
    other.consume({ stream: 's', group: 'g', ...QUICK }, (body, ctx) => void seen.push([body, ctx.attempt]));
    other.start();
    await eventually(() => expect(seen).toEqual([[1, 1]]));
  });

  it('publishes many in order, one result each', async () => {
    const results = await streams.producer.publishMany('s', [
      { payload: 1 },
      { payload: () => 1 },
      { payload: 'x'.repeat(300_000) },
      { payload: 2, type: 't' },
    ]);
    expect(results.map(({ id, error }) => id !== undefined || (error as { code?: string }).code)).toEqual([
      true,
      'ERR_CODEC',
      'ERR_STREAM_PAYLOAD_TOO_LARGE',
      true,
    ]);
    const entries = await topology.admin.client.xrange(key('s'), '-', '+');
    expect(entries.map(([id]) => id)).toEqual([results[0]!.id, results[3]!.id]);
    await expect(streams.producer.publish('s', 'x'.repeat(300_000))).rejects.toBeInstanceOf(StreamPublishError);
    await expect(streams.producer.publish('s', 1, { key: 7 as never })).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTIONS',
    });
  });

  it('keeps about as many entries as the retention of the stream says', async () => {
    const small = defineStream<{ tick: number }>({ name: 'small', retention: { maxLen: 100 } });
    for (let round = 0; round < 5; round++) {
      await streams.producer.publishMany(
        small,
        range(200).map((payload) => ({ payload, type: 'tick' as const })),
      );
    }
    const { length } = (await streams.admin.info(small))!;
    expect(length).toBeGreaterThanOrEqual(100);
    expect(length).toBeLessThanOrEqual(300);
  });
});
