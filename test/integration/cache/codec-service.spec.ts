import { afterAll, expect, it } from '@jest/globals';
import { CodecError } from '../../../libs/redis-patterns/src/codec/index.js';
import type { CacheOptions } from '../../../libs/redis-patterns/src/cache/index.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openCache, type TestCache } from './test-cache.js';

class Order {
  total = 0n;
  constructor(readonly lines: readonly { sku: string; added: Date }[]) {}
  get size(): number {
    return this.lines.length;
  }
}

/** Of 100 lines it is compressed at once, of 3000 on another thread. */
function orderOf(lines: number): Order {
  const order = new Order(
    Array.from({ length: lines }, (_, line) => ({ sku: `Teekanne ☕ ${line}`, added: new Date(line) })),
  );
  order.total = BigInt(lines) ** 20n;
  return order;
}

describeOnEachTopology('how the cache encodes values', (topology) => {
  const opened: TestCache[] = [];
  let names = 0;
  const fresh = () => `encoded:${++names}`;
  const open = async (options: CacheOptions) => {
    const one = await openCache(topology, options);
    opened.push(one);
    return one.cache;
  };
  afterAll(() => Promise.all(opened.map((one) => one.close())));

  it('gives instances of listed classes back as such, and refuses others', async () => {
    const cache = await open({ types: [Order] });
    const key = fresh();
    const load = () => cache.getOrSet(key, async () => orderOf(2));
    expect((await load()).size).toBe(2);
    expect(await load()).toStrictEqual(orderOf(2));
    expect(await cache.get(key)).toBeInstanceOf(Order);
    const other = await open({});
    expect(await other.get(key)).toBeUndefined();
    await expect(other.set(fresh(), orderOf(1))).rejects.toBeInstanceOf(CodecError);
    expect(await other.getOrSet(key, async () => 'without the class')).toBe('without the class');
  });

  it('learns classes from calls, and refuses two of one name', async () => {
    const cache = await open({});
    const key = fresh();
    await cache.set(key, orderOf(1), { types: [Order] });
    expect(await cache.get(key)).toStrictEqual(orderOf(1));
    const Other = { Order: class Order {} }.Order;
    for (const types of [[Other], [Map], ['Order']]) {
      await expect(cache.getOrSet(key, async () => 1, { types: types as never })).rejects.toThrow(/getOrSet[^]*types/);
    }
  });

  it.each(['gzip', 'brotli'] as const)('compresses with %s, also for whoever does not', async (algorithm) => {
    const writer = await open({ types: [Order], compress: { algorithm }, stale: '1m', onOversize: 'store' });
    const reader = await open({ types: [Order] });
    for (const lines of [2, 100, 3_000]) {
      const [set, loaded] = [fresh(), fresh()];
      await writer.set(set, orderOf(lines), { tags: ['orders'] });
      await writer.getOrSet(loaded, async () => orderOf(lines), { tags: ['orders'] });
      for (const key of [set, loaded]) {
        const text = (await topology.admin.client.get(`${topology.namespace}:cache:${key}`)) ?? '';
        expect(text).toMatch(lines === 2 ? /;z=;/ : new RegExp(`;z=${algorithm}:\\d+;.*\\n[\\w+/=]+$`));
        for (const cache of [writer, reader]) expect(await cache.get(key)).toStrictEqual(orderOf(lines));
        const never = () => Promise.reject(new Error('it is there'));
        expect(await reader.getOrSet(key, never, { tags: ['orders'] })).toStrictEqual(orderOf(lines));
        expect((await reader.getMany([key])).get(key)).toStrictEqual(orderOf(lines));
      }
    }
  });

  it('takes a damaged or oversized compressed entry for a miss', async () => {
    const cache = await open({ compress: { over: 0, maxOutput: '10kb' } });
    const roomy = await open({ compress: { over: 0 } });
    const [damaged, damagedLong, large] = [fresh(), fresh(), fresh()];
    await cache.set(damaged, 'tea'.repeat(1_000));
    await roomy.set(damagedLong, 'tea'.repeat(50_000));
    for (const key of [damaged, damagedLong]) {
      await topology.admin.client.setrange(`${topology.namespace}:cache:${key}`, 100, 'xxxx');
    }
    expect(await roomy.get(damagedLong)).toBeUndefined();
    await roomy.set(large, 'tea'.repeat(10_000));
    expect(await roomy.get(large)).toHaveLength(30_000);
    for (const key of [damaged, damagedLong, large]) {
      expect(await cache.get(key)).toBeUndefined();
      expect(await cache.getOrSet(key, async () => 'new')).toBe('new');
      expect(await cache.get(key)).toBe('new');
    }
  });

  it('copies a compressed value from the memory of the process without unpacking it again', async () => {
    const cache = await open({ types: [Order], compress: {}, l1: { coherence: 'ttl' } });
    const key = fresh();
    await cache.set(key, orderOf(3_000));
    const copies = [await cache.get(key), await cache.get(key), await cache.get(key)];
    for (const copy of copies) expect(copy).toStrictEqual(orderOf(3_000));
    expect(copies[1]).not.toBe(copies[2]);
    expect(cache.stats().l1Hits).toBeGreaterThan(0);
  });

  it('lets the application bring a codec, and reads what was there before', async () => {
    const before = await open({});
    const own = await open({
      codec: { id: 'hex', encode: (value) => Buffer.from(JSON.stringify(value)).toString('hex'), decode: fromHex },
    });
    const [old, key] = [fresh(), fresh()];
    await before.set(old, { at: new Date(0) });
    await own.set(key, { a: 1 });
    expect(await own.get(old)).toEqual({ at: new Date(0) });
    expect(await own.get(key)).toEqual({ a: 1 });
    expect(await topology.admin.client.get(`${topology.namespace}:cache:${key}`)).toMatch(/;c=hex;.*\n7b2261223a317d$/);
    expect(await before.get(key)).toBeUndefined();
  });
});

function fromHex(text: string): unknown {
  return JSON.parse(Buffer.from(text, 'hex').toString());
}
