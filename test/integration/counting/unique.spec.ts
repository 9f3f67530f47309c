import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openCounting, texts, type OpenCounting } from './test-counting.js';

describeOnEachTopology('unique counters', { user: 'counting' }, (topology) => {
  let open: OpenCounting;
  beforeAll(async () => {
    open = await openCounting(topology);
  });
  afterAll(() => open.engine.close());

  /** Both keys of a counter end at one moment, which is still to come. */
  async function checkExpiry(main: string): Promise<void> {
    const beside = main.includes('{') ? main : `{${main}}`;
    const keys = [main, `${topology.namespace}:unique~hll:${beside}`];
    const ends = await Promise.all(keys.map((key) => topology.admin.client.pexpiretime(key)));
    expect(new Set(ends.filter((end) => end !== -2)).size).toBe(1);
    expect(Math.max(...ends)).toBeGreaterThan(Date.now());
  }

  it('invariant 8: are exact up to the limit, whoever repeats what, and an estimate above it', async () => {
    const visitors = open.unique.counter('visitors', { exactLimit: 500 });
    const ids = texts('id', 500);
    await Promise.all(texts('id', 500).map((id) => visitors.add(id)));
    expect(await visitors.addMany([...ids, ...ids])).toBe(false);
    expect(await visitors.count()).toEqual({ value: 500, exact: true });
    expect([await visitors.has('id-7'), await visitors.has('id-500')]).toEqual([true, false]);
    await checkExpiry(`${topology.namespace}:unique:visitors`);

    expect(await visitors.add('one more')).toBe(true);
    const { value, exact } = await visitors.count();
    expect(exact).toBe(false);
    expect(Math.abs(value - 501) / 501).toBeLessThan(0.033);
    expect(await topology.admin.client.exists(`${topology.namespace}:unique:visitors`)).toBe(0);
    await expect(visitors.has('id-7')).rejects.toMatchObject({ code: 'ERR_UNIQUE_ESTIMATE' });
    await checkExpiry(`${topology.namespace}:unique:visitors`);

    await visitors.addMany(ids);
    expect((await visitors.count()).value).toBe(value);
    await visitors.addMany(texts('id', 20_000));
    expect(Math.abs((await visitors.count()).value - 20_001) / 20_001).toBeLessThan(0.033);
  });

  it.each([
    ['set', true],
    ['hll', false],
  ] as const)('count with the strategy %s from the start', async (strategy, exact) => {
    const counter = open.unique.counter(`by ${strategy}`.replace(' ', '-'), { strategy });
    await counter.addMany(texts('x', 3000));
    const count = await counter.count();
    expect(count.exact).toBe(exact);
    expect(Math.abs(count.value - 3000) / 3000).toBeLessThan(exact ? 1e-9 : 0.033);
    await checkExpiry(`${topology.namespace}:unique:by-${strategy}`);
    const others = (['set', 'hll', 'auto'] as const).filter((each) => each !== strategy);
    for (const each of others) {
      const wrong = open.unique.counter(`by-${strategy}`, { strategy: each });
      // An estimate can be gone on with by `auto`, as it is what that has above its limit.
      if (strategy === 'hll' && each === 'auto') expect(await wrong.count()).toEqual(count);
      else await expect(wrong.add('y')).rejects.toMatchObject({ code: 'ERR_UNIQUE_STRATEGY' });
    }
    expect([await counter.clear(), await counter.count()]).toEqual([true, { value: 0, exact }]);
  });

  it('invariant 8: give the union of a range, and not its sum', async () => {
    const range = { from: '2026-11-01', to: '2026-11-30' };
    const days = open.unique.counter('days', { bucket: 'day', exactLimit: 300, ttl: '36500d' });
    await days.addMany(texts('u', 200), { at: '2026-11-01' });
    await days.addMany(texts('u', 200, 100), { at: '2026-11-15' });
    await days.addMany(texts('u', 10), { at: '2026-11-30' });
    await days.addMany(texts('elsewhere', 50), { at: '2026-12-01' });
    expect(await days.countRange(range)).toEqual({ value: 300, exact: true });
    expect(await days.count('2026-11-15')).toEqual({ value: 200, exact: true });
    await days.addMany(texts('u', 400, 200), { at: '2026-11-20' });
    const { value, exact } = await days.countRange(range);
    expect(exact).toBe(false);
    expect(Math.abs(value - 600) / 600).toBeLessThan(0.033);
    expect(await days.countRange({ from: '2026-01-01', to: '2026-01-31' })).toEqual({ value: 0, exact: true });
    expect(await days.countRange({ last: 400 })).toEqual(expect.objectContaining({ exact: expect.any(Boolean) }));
    await checkExpiry(`${topology.namespace}:unique:{days}:2026-11-20`);
  });

  it('read exact ranges that are too large for a script in pages, and estimate others', async () => {
    const range = { from: '2026-11-01', to: '2026-11-02' };
    for (const strategy of ['set', 'auto'] as const) {
      const large = open.unique.counter(['large', strategy], {
        bucket: 'day',
        strategy,
        exactLimit: 7000,
        ttl: '36500d',
      });
      await large.addMany(texts('u', 6000), { at: '2026-11-01' });
      await large.addMany(texts('u', 6000, 3000), { at: '2026-11-02' });
      const { value, exact } = await large.countRange(range);
      expect(exact).toBe(strategy === 'set');
      expect(Math.abs(value - 9000) / 9000).toBeLessThan(exact ? 1e-9 : 0.033);
    }
  });

  it('refuse what is no id', async () => {
    const counter = open.unique.counter('refused');
    await expect(counter.add('a', '')).rejects.toThrow('ids[1]: must be a text that is not empty');
    await expect(counter.add(7 as unknown as string)).rejects.toThrow('ids: must be a text');
    expect(await counter.add()).toBe(false);
    expect(() => open.unique.counter('x', { exactLimit: 0 })).toThrow('exactLimit: must be an integer from 1');
  });

  it('invariant 7: leave no key without an end', async () => {
    expect((await topology.admin.keys(`${topology.namespace}:*`)).length).toBeGreaterThan(0);
    expect(await topology.admin.keysWithoutEnd(`${topology.namespace}:*`)).toEqual([]);
  });
});
