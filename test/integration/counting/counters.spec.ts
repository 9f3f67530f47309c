import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openCounting, type OpenCounting } from './test-counting.js';

const DAY = 86_400_000;

describeOnEachTopology('counters', { user: 'counting' }, (topology) => {
  let open: OpenCounting;
  let other: OpenCounting;
  beforeAll(async () => {
    [open, other] = [await openCounting(topology), await openCounting(topology)];
  });
  afterAll(async () => {
    await open.engine.close();
    await other.engine.close();
  });

  it('lose nothing of parallel callers, and end some time after the last one', async () => {
    const { counters } = open;
    const callers = [counters, other.counters];
    const seen = await Promise.all(Array.from({ length: 200 }, (_, n) => callers[n % 2]!.incr('hits', { ttl: '1h' })));
    expect(new Set(seen)).toEqual(new Set(Array.from({ length: 200 }, (_, n) => n + 1)));
    expect(await counters.incr('hits', { by: -50, ttl: '1h' })).toBe(150);
    expect(await counters.get('hits')).toBe(150);
    const left = await topology.admin.client.pttl(`${topology.namespace}:counter:hits`);
    expect(left).toBeGreaterThan(3_500_000);
    expect(left).toBeLessThanOrEqual(3_600_000);
    expect(await counters.get('never')).toBe(0);
  });

  it('have dated keys of the classic form, each in the slot of its name, and end with their bucket', async () => {
    const { counters } = open;
    const counter = counters.counter('stats:pageviews', { bucket: 'day', ttl: '1d' });
    const day = new Date(Date.now() + 3 * DAY).toISOString().slice(0, 10);
    expect(await counter.incr(7, { at: day })).toBe(7);
    const key = `${topology.namespace}:counter:{stats:pageviews}:${day}`;
    expect(await topology.admin.client.get(key)).toBe('7');
    expect(await topology.admin.client.pexpiretime(key)).toBe(Date.parse(day) + 2 * DAY);
    expect(await counters.get('stats:pageviews', { bucket: 'day', at: new Date(`${day}T12:00:00Z`) })).toBe(7);
  });

  it('give ranges in order, with nothing for empty buckets, across a change of the clocks', async () => {
    const counter = open.counters.counter('range', { bucket: 'day', tz: 'Europe/Berlin', ttl: '36500d' });
    // Of these two the later one is a day later in Berlin, on the day of 25 hours.
    await counter.incr(1, { at: new Date('2026-10-24T22:30:00Z') });
    await counter.incr(2, { at: new Date('2026-10-25T22:59:00Z') });
    await counter.incr(4, { at: new Date('2026-10-25T23:00:00Z') });
    const counts = await counter.range({ from: '2026-10-24', to: '2026-10-26' });
    expect(counts.map(({ bucket, value }) => [bucket, value])).toEqual([
      ['2026-10-24', 0],
      ['2026-10-25', 3],
      ['2026-10-26', 4],
    ]);
    expect(counts[1]!.start).toEqual(new Date('2026-10-24T22:00:00Z'));
    const options = { bucket: 'month', ttl: '1d' } as const;
    await open.counters.incr('last', options);
    const last = await open.counters.range('last', { ...options, last: 12 });
    expect([last.length, last.at(-1)!.value, last.at(-2)!.value]).toEqual([12, 1, 0]);
    expect(await open.counters.range('last', { ...options, from: last[3]!.start })).toEqual(last.slice(3));
  });

  it('invariant 7: workers with different clocks count and read the same bucket at the same moment', async () => {
    const clock = jest.spyOn(Date, 'now');
    const workers = [await openCounting(topology), await openCounting(topology), await openCounting(topology)];
    const [fast, slow, reader] = workers;
    try {
      const real = Number((await topology.admin.masters()[0]!.time())[0]) * 1000;
      clock.mockReturnValue(real + 40 * DAY);
      await fast!.counters.incr('clocks', { bucket: 'week' });
      clock.mockReturnValue(real - 40 * DAY);
      await slow!.counters.incr('clocks', { bucket: 'week' });
      expect((await reader!.counters.range('clocks', { bucket: 'week', last: 2 }))[1]!.value).toBe(2);
    } finally {
      clock.mockRestore();
      for (const each of workers) await each.engine.close();
    }
    expect(await topology.admin.keys(`${topology.namespace}:counter:{clocks}:*`)).toHaveLength(1);
  });

  it('count an operation once, whoever repeats it', async () => {
    const once = { opId: 'message 7', bucket: 'month' } as const;
    const counts = await Promise.all([open, other].map(({ counters }) => counters.incr('once', { ...once, by: 3 })));
    expect([counts, await open.counters.incr('once', { bucket: 'month' })]).toEqual([[3, 3], 4]);
    const [key] = await topology.admin.keys(`${topology.namespace}:counter~op:*`);
    expect(await topology.admin.client.pttl(key!)).toBeGreaterThan(500_000);
  });

  describe('refuse', () => {
    it('to leave what numbers keep exactly, and stay what they were', async () => {
      const { counters } = open;
      await counters.incr('edge', { by: Number.MAX_SAFE_INTEGER });
      await expect(counters.incr('edge')).rejects.toMatchObject({ code: 'ERR_NUMBER_RANGE' });
      expect(await counters.get('edge')).toBe(Number.MAX_SAFE_INTEGER);
      for (const by of [NaN, Infinity, 0.5, 2 ** 53]) {
        await expect(counters.incr('edge', { by })).rejects.toThrow('by: must be an integer');
      }
      await topology.admin.client.set(`${topology.namespace}:counter:foreign`, '9007199254740993', 'EX', 60);
      await expect(counters.get('foreign')).rejects.toMatchObject({ code: 'ERR_NUMBER_RANGE' });
    });

    it('ranges that are none or too long, and options that are not known', async () => {
      const days = open.counters.counter('days', { bucket: 'day' });
      await expect(days.range({ last: 401 })).rejects.toThrow('last: must be an integer from 1 to 400');
      await expect(days.range({ from: '2020-01-01' })).rejects.toThrow('more than 400 buckets');
      await expect(days.range({ from: '2026-01-02', to: '2026-01-01' })).rejects.toThrow('after the end');
      await expect(days.range({} as { last: number })).rejects.toThrow('give { last: 7 }');
      await expect(open.counters.counter('all').range({ last: 2 })).rejects.toThrow('bucket: is needed');
      await expect(open.counters.incr('days', { bucket: 'year' as 'day' })).rejects.toThrow("bucket: must be 'hour'");
      await expect(open.counters.incr('days', { opId: '' })).rejects.toThrow('opId: must be a text');
    });
  });

  it('invariant 7: leave no key without an end', async () => {
    expect((await topology.admin.keys(`${topology.namespace}:*`)).length).toBeGreaterThan(0);
    expect(await topology.admin.keysWithoutEnd(`${topology.namespace}:*`)).toEqual([]);
  });
});
