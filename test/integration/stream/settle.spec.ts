import { expect, it } from '@jest/globals';
import {
  LeaseLostError,
  MessageSettledError,
  RetryMessageError,
  UnrecoverableMessageError,
  type StreamContext,
} from '../../../libs/redis-patterns/src/stream/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { useStreams } from './stream-place.js';
import { gate, QUICK } from './test-streams.js';

describeOnEachTopology('the outcome of a handler', { user: 'stream' }, (topology) => {
  const place = useStreams(topology);
  const { key, companion, pendingCount } = place;

  it('makes a dead letter of a type that nobody takes, and of a payload that cannot be decoded', async () => {
    place.streams.runtime.consume({ stream: 's', group: 'g', type: 'known', ...QUICK }, () => undefined);
    place.streams.runtime.start();
    await place.streams.producer.publish('s', 1, { type: 'alien' });
    await topology.admin.client.xadd(key('s'), '*', 'data', '{"broken', 'type', 'known');
    await topology.admin.client.xadd(key('s'), '*', 'something', 'else', 'type', 'known');
    const list = () => place.streams.admin.deadLetters('s', 'g').list();
    await eventually(async () => expect(await list()).toHaveLength(3));
    expect((await list()).map(({ reason }) => reason).toSorted()).toEqual(['decode', 'decode', 'unknown-type']);
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
  });

  it('runs a failing message again after a pause, then makes exactly one dead letter of it', async () => {
    const attempts: number[] = [];
    place.streams.runtime.consume(
      { stream: 's', group: 'g', ...QUICK, retry: { ...QUICK.retry, attempts: 3 } },
      (_, ctx) => {
        attempts.push(ctx.attempt);
        throw new TypeError(`attempt ${ctx.attempt}`);
      },
    );
    place.streams.runtime.consume({ stream: 's', group: 'other', ...QUICK }, () => undefined);
    place.streams.runtime.start();
    const id = await place.streams.producer.publish('s', { n: 1 }, { type: 't', key: 'k', headers: { h: '1' } });
    const list = () => place.streams.admin.deadLetters('s', 'g').list();
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
    expect(await place.streams.admin.deadLetters('s', 'other').list()).toEqual([]);
  });

  it('keeps a failed message out of the stream until it succeeds, and leaves nothing of it behind', async () => {
    const { client } = topology.admin;
    const seen: unknown[] = [];
    const retry = { backoff: { base: 50, max: 50 } };
    place.streams.runtime.consume({ stream: 's', group: 'g', ...QUICK, retry }, async (_, ctx) => {
      seen.push([ctx.id, ctx.attempt, ctx.deliveryCount, await pendingCount('s', 'g')]);
      if (ctx.attempt < 3) throw new Error('not yet');
    });
    place.streams.runtime.start();
    const id = await place.streams.producer.publish('s', 1);
    await eventually(() => expect(seen).toHaveLength(3));
    expect(seen).toEqual([
      [id, 1, 1, 1],
      [id, 2, 1, 0],
      [id, 3, 1, 0],
    ]);
    await eventually(async () => expect(await client.xlen(companion('retry', 's', 'g'))).toBe(0));
    const left = ['due', 'due-body', 'dlq'].map((role) => companion(role, 's', 'g'));
    for (const name of left) expect([name, await client.exists(name)]).toEqual([name, 0]);
    expect(await client.xlen(key('s'))).toBe(1);
  });

  it('obeys what a handler throws: another delay, or no further attempt', async () => {
    const seen: unknown[] = [];
    const starts: number[] = [];
    place.streams.runtime.consume(
      { stream: 's', group: 'g', ...QUICK, retry: { backoff: { base: '1h', max: '1h' } } },
      (body, ctx) => {
        seen.push([body, ctx.attempt]);
        if (body === 'never') throw new UnrecoverableMessageError('no such order');
        starts.push(performance.now());
        if (ctx.attempt === 1) throw new RetryMessageError({ delay: 150 });
      },
    );
    place.streams.runtime.start();
    await place.streams.producer.publish('s', 'never');
    await place.streams.producer.publish('s', 'later');
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
      expect(await place.streams.admin.deadLetters('s', 'g').list()).toMatchObject([
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
        seen.push(`acked ${(await place.streams.admin.pending('s', 'g'))!.count}`);
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
    place.streams.runtime.consume({ stream: 's', group: 'g', ...QUICK, concurrency: 1 }, (body, ctx) =>
      settle[body as string]!(ctx),
    );
    place.streams.runtime.start();
    await place.streams.producer.publish('s', 'ack');
    await eventually(() => expect(seen).toEqual(['acked 0']));
    expect(conflicts[0]).toBeInstanceOf(MessageSettledError);
    for (const how of ['retry', 'deadLetter', 'notAwaited']) await place.streams.producer.publish('s', how);
    await eventually(() => expect(new Set(seen)).toEqual(new Set(['acked 0', 'retry 1', 'retry 2', 'buried'])));
    await eventually(async () =>
      expect(await place.streams.admin.deadLetters('s', 'g').list()).toMatchObject([
        { reason: 'handler', error: 'by hand, not awaited' },
        { reason: 'handler', error: 'by hand' },
      ]),
    );
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
  });

  it('tells a run that has lost its lease, which then can settle nothing but an acknowledgement', async () => {
    const failures: unknown[] = [];
    const lost = gate();
    place.streams.runtime.consume({ stream: 's', group: 'g', ...QUICK }, async (_, ctx) => {
      await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()));
      failures.push(ctx.signal.reason);
      for (const late of [() => ctx.retry(), () => ctx.deadLetter('x'), () => ctx.extend()]) {
        await late().catch((error: unknown) => failures.push(error));
      }
      lost.open();
      throw new Error('aborted');
    });
    place.streams.runtime.start();
    const id = await place.streams.producer.publish('s', 1);
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(1));
    await topology.admin.client.call('XCLAIM', key('s'), 'g', 'thief', 0, id, 'JUSTID');
    await lost.opened;
    expect(failures).toHaveLength(4);
    for (const failure of failures) expect(failure).toBeInstanceOf(LeaseLostError);
    expect((await place.streams.admin.pending('s', 'g'))!.consumers).toEqual([{ name: 'thief', count: 1 }]);
    expect(await place.streams.admin.deadLetters('s', 'g').list()).toEqual([]);
  });

  it('goes on with a message that is trimmed from the stream while it runs, and keeps its dead letter', async () => {
    const hold = gate();
    place.streams.runtime.consume({ stream: 's', group: 'g', ...QUICK, retry: { attempts: 1 } }, async () => {
      await hold.opened;
      throw new Error('after the trim');
    });
    place.streams.runtime.start();
    const id = await place.streams.producer.publish('s', { kept: true });
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(1));
    await topology.admin.client.xtrim(key('s'), 'MAXLEN', 0);
    hold.open();
    await eventually(async () =>
      expect(await place.streams.admin.deadLetters('s', 'g').list()).toMatchObject([
        { originalId: id, body: { kept: true } },
      ]),
    );
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
  });
});
