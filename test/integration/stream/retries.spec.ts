import { expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { useStreams } from './stream-place.js';
import { QUICK, range, sorted } from './test-streams.js';

describeOnEachTopology('the retries of a group', { user: 'stream' }, (topology) => {
  const place = useStreams(topology);
  const { key, companion, pendingCount } = place;

  it('reach no other group, nor do its dead letters and what is replayed of them', async () => {
    const { runtime, producer, admin } = place.streams;
    const seen: Record<'bad' | 'good', string[]> = { bad: [], good: [] };
    let healed = false;
    const ready = (['bad', 'good'] as const).map(
      (group) =>
        runtime.consume({ stream: 's', group, ...QUICK, retry: { ...QUICK.retry, attempts: 3 } }, (body, ctx) => {
          seen[group].push(`${String(body)} ${ctx.attempt}`);
          if (group === 'bad' && !healed) throw new Error('no');
        }).ready,
    );
    runtime.start();
    await Promise.all(ready);
    await producer.publishMany(
      's',
      range(5).map((payload) => ({ payload })),
    );
    const letters = admin.deadLetters('s', 'bad');
    await eventually(async () => expect(await letters.count()).toBe(5));
    const runs = (attempts: number[]): string[] =>
      range(5).flatMap((n) => attempts.map((attempt) => `${n} ${attempt}`));
    expect(seen.bad.toSorted()).toEqual(runs([1, 2, 3]));
    expect(seen.good.toSorted()).toEqual(runs([1]));
    // Exactly one of each, which stays when somebody fails no longer.
    expect(sorted((await letters.list()).map(({ body }) => body))).toEqual(range(5));
    expect(await admin.deadLetters('s', 'good').count()).toBe(0);
    expect(await topology.admin.client.xlen(key('s'))).toBe(5);

    healed = true;
    seen.bad.length = 0;
    const [newest, ...others] = await letters.list();
    expect(await letters.purge({ ids: [newest!.id] })).toBe(1);
    expect(await letters.replay()).toBe(4);
    const left = others.map(({ body }) => `${String(body)} 1`).toSorted();
    await eventually(() => expect(seen.bad.toSorted()).toEqual(left));
    expect(await letters.count()).toBe(0);
    expect(seen.good).toHaveLength(5);
    await eventually(async () => expect(await topology.admin.client.xlen(companion('retry', 's', 'bad'))).toBe(0));
    expect(await admin.lag('s', 'bad')).toMatchObject({ lag: 0, pending: 0, retries: 0, deadLetters: 0 });
  });

  it('survive their process, with their number of attempts', async () => {
    const { runtime, producer, anotherRuntime } = place.streams;
    const seen: unknown[] = [];
    const options = { stream: 's', group: 'g', ...QUICK, retry: { attempts: 5, backoff: { base: 400, max: 400 } } };
    const { ready } = runtime.consume(options, (_, ctx) => {
      seen.push(['first', ctx.attempt]);
      throw new Error('no');
    });
    runtime.start();
    await ready;
    await producer.publish('s', 1);
    await eventually(() => expect(seen.length).toBeGreaterThan(1), { timeout: 10_000 });
    await runtime.drain(1000);
    const attempts = seen.length;
    const other = anotherRuntime();
    other.consume(options, (_, ctx) => void seen.push(['second', ctx.attempt]));
    other.start();
    await eventually(() => expect(seen.at(-1)).toEqual(['second', attempts + 1]), { timeout: 10_000 });
    await eventually(async () => expect(await pendingCount('s', 'g')).toBe(0));
  });

  it('are taken over with attempts and starts, when a consumer dies in the middle of one', async () => {
    const { runtime, producer, anotherRuntime } = place.streams;
    const { client } = topology.admin;
    const seen: unknown[] = [];
    const options = { stream: 's', group: 'g', ...QUICK } as const;
    const { ready } = runtime.consume(options, async (_, ctx) => {
      seen.push(['first', ctx.attempt, ctx.deliveryCount]);
      if (ctx.attempt < 3) throw new Error('no');
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
      ctx.signal.throwIfAborted();
    });
    runtime.start();
    await ready;
    const id = await producer.publish('s', 1);
    await eventually(() => expect(seen).toHaveLength(3));
    // As if it were dead: another one has its retry, and dies, too.
    const retries = companion('retry', 's', 'g');
    const [[entry]] = (await client.xpending(retries, 'g', '-', '+', 1)) as [[string]];
    await client.call('XCLAIM', retries, 'g', 'dead', 0, entry, 'JUSTID');
    await runtime.drain(1000);
    const other = anotherRuntime();
    other.consume(options, (_, ctx) => void seen.push(['second', ctx.attempt, ctx.deliveryCount, ctx.id]));
    other.start();
    await eventually(() => expect(seen).toHaveLength(4), { timeout: 10_000 });
    expect(seen.at(-1)).toEqual(['second', 3, 2, id]);
    await eventually(async () => expect(await client.xlen(retries)).toBe(0));
  });
});
