import { expect, it } from '@jest/globals';
import { InvalidOptionsError } from '../../../libs/redis-patterns/src/core/errors.js';
import {
  HandlerTimeoutError,
  LeaseLostError,
  MessageSettledError,
} from '../../../libs/redis-patterns/src/stream/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { useStreams } from './stream-place.js';
import { QUICK, range, sorted } from './test-streams.js';

describeOnEachTopology('a handler', { user: 'stream' }, (topology) => {
  const place = useStreams(topology);
  const { key, companion, pendingCount } = place;

  it('commits its effects in Redis together with its message, exactly once, or neither', async () => {
    const { runtime, producer, admin } = place.streams;
    const { client } = topology.admin;
    const sold = companion('sold', 's');
    const failures: unknown[] = [];
    const note = (error: unknown): void => void failures.push(error);
    const retry = { attempts: 2, backoff: { base: 5, max: 5 } };
    runtime.consume({ stream: 's', group: 'g', ...QUICK, retry }, async (body, ctx) => {
      if (body === 'elsewhere') await ctx.commit((tx) => tx.call('ZADD', 'another:slot', 1, 'x')).catch(note);
      if (body === 'wrong') await ctx.commit((tx) => tx.call('HSET', sold, 'a', 'b')).catch(note);
      if (body === 'stolen') {
        await client.call('XCLAIM', key('s'), 'g', 'thief', 0, ctx.id, 'JUSTID');
        await ctx.commit((tx) => tx.call('ZADD', sold, 'INCR', 100, 'item')).catch(note);
        throw new Error('stop');
      }
      await ctx.commit((tx) => tx.call('ZADD', sold, 'INCR', 1, 'item').call('ZADD', sold, 'INCR', 2, 'other'));
      await ctx.retry().catch(note);
      // It is done: what happens now no longer matters.
      throw new Error('too late');
    });
    runtime.start();
    await producer.publishMany(
      's',
      range(20).map((payload) => ({ payload })),
    );
    await eventually(() => expect(failures).toHaveLength(20));
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
    expect(failures.splice(0)).toEqual(Array.from({ length: 20 }, () => expect.any(MessageSettledError)));
    await producer.publish('s', 'elsewhere');
    await eventually(() => expect(failures).toHaveLength(2));
    await producer.publish('s', 'wrong');
    await eventually(() => expect(failures).toHaveLength(4));
    await producer.publish('s', 'stolen');
    await eventually(() => expect(failures).toHaveLength(5));
    expect(failures).toEqual([
      expect.any(InvalidOptionsError),
      expect.any(MessageSettledError),
      expect.objectContaining({ reply: 'WRONGTYPE' }),
      expect.any(MessageSettledError),
      expect.any(LeaseLostError),
    ]);
    expect(await client.zrange(sold, '0', '-1', 'WITHSCORES')).toEqual(['item', '22', 'other', '44']);
    expect((await admin.pending('s', 'g'))!.consumers).toEqual([{ name: 'thief', count: 1 }]);
    expect(await admin.deadLetters('s', 'g').count()).toBe(0);
  });

  it('that takes longer than it may is aborted and has failed; extend() gives it more time', async () => {
    const { runtime, producer, admin } = place.streams;
    const seen: unknown[] = [];
    const aborted = (signal: AbortSignal) => new Promise((resolve) => signal.addEventListener('abort', resolve));
    const retry = { attempts: 2, backoff: { base: 5, max: 5 } };
    runtime.consume({ stream: 's', group: 'g', ...QUICK, timeout: 200, retry }, async (body, ctx) => {
      if (body === 'patient') {
        await new Promise((resolve) => setTimeout(resolve, 100));
        await ctx.extend(900);
        await new Promise((resolve) => setTimeout(resolve, 250));
        seen.push(['patient', ctx.attempt, ctx.signal.aborted]);
        return;
      }
      await aborted(ctx.signal);
      seen.push(['slow', ctx.attempt, ctx.signal.reason]);
      // It does not stop, but it can no longer say how it ends.
      if (ctx.attempt === 1) await ctx.deadLetter('late').catch((error: unknown) => seen.push(error));
    });
    runtime.start();
    await producer.publish('s', 'slow');
    await producer.publish('s', 'patient');
    await eventually(async () =>
      expect(await admin.deadLetters('s', 'g').list()).toMatchObject([
        { body: 'slow', reason: 'max-attempts', attempts: 2 },
      ]),
    );
    await eventually(() => expect(seen).toHaveLength(4));
    expect(seen).toEqual(
      expect.arrayContaining([
        ['slow', 1, expect.any(HandlerTimeoutError)],
        expect.any(MessageSettledError),
        ['slow', 2, expect.any(HandlerTimeoutError)],
        ['patient', 1, false],
      ]),
    );
    await eventually(async () => expect(await admin.lag('s', 'g')).toMatchObject({ pending: 0, retries: 0 }));
  });

  it('takes batches, each message of which it may settle alone', async () => {
    const { runtime, producer, admin } = place.streams;
    const batches: unknown[][] = [];
    const retried: unknown[] = [];
    const options = { stream: 's', group: 'g', ...QUICK, concurrency: 2 } as const;
    await producer.publishMany(
      's',
      range(25).map((payload) => ({ payload })),
    );
    runtime.consume({ ...options, batch: { size: 10, wait: 100 } }, async (bodies, ctx) => {
      const numbers = bodies as number[];
      expect(ctx.messages.map(({ attempt }) => attempt)).toHaveLength(numbers.length);
      for (const [n, message] of ctx.messages.entries()) {
        if (message.attempt > 1) retried.push(numbers[n]);
        else if (numbers[n] === 3) await message.deadLetter('three');
        else if (numbers[n] === 4) await message.retry({ delay: 5 });
      }
      const fresh = numbers.filter((_, n) => ctx.messages[n]!.attempt === 1);
      batches.push(fresh);
      // The whole batch fails: those not settled alone run again.
      if (fresh.includes(24)) throw new Error('no');
    });
    runtime.start();
    await eventually(async () => expect(await admin.lag('s', 'g')).toMatchObject({ lag: 0, pending: 0, retries: 0 }), {
      timeout: 10_000,
    });
    expect(batches.every((batch) => batch.length <= 10)).toBe(true);
    expect(sorted(batches.flat())).toEqual(range(25));
    const last = batches.find((batch) => batch.includes(24))!;
    expect(new Set(retried)).toEqual(new Set([4, ...last.filter((n) => n !== 3)]));
    expect(await admin.deadLetters('s', 'g').list()).toMatchObject([{ body: 3, reason: 'handler', error: 'three' }]);
  });

  it('does not begin while its group is paused, and goes on when it is resumed or the time is over', async () => {
    const { runtime, producer, admin } = place.streams;
    const seen: unknown[] = [];
    for (const group of ['g', 'other']) {
      runtime.consume({ stream: 's', group, ...QUICK }, (body) => void seen.push(`${group} ${String(body)}`));
    }
    await admin.pause('s', 'g', { for: '1h' });
    await producer.publish('s', 1);
    runtime.start();
    await eventually(() => expect(seen).toContain('other 1'));
    await eventually(async () => expect((await admin.groups('s')).map(({ paused }) => paused)).toEqual([true, false]));
    await producer.publish('s', 2);
    await eventually(() => expect(seen).toContain('other 2'));
    expect(seen.filter((line) => line !== 'g 1')).toEqual(['other 1', 'other 2']);
    expect(await admin.resume('s', 'g')).toBe(true);
    await eventually(() => expect(new Set(seen)).toEqual(new Set(['other 1', 'other 2', 'g 1', 'g 2'])));
    expect(await topology.admin.client.exists(companion('paused', 's', 'g'))).toBe(0);
  });
});
