import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { CodecError } from '../../../libs/redis-patterns/src/codec/index.js';
import { InvalidOptionsError } from '../../../libs/redis-patterns/src/core/errors.js';
import { InvalidKeyError } from '../../../libs/redis-patterns/src/keys/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openCache, type TestCache } from './test-cache.js';

describeOnEachTopology('values in the cache', { user: 'cache' }, (topology) => {
  let opened: TestCache;
  let cache: TestCache['cache'];
  let names = 0;
  const fresh = () => ['value', ++names] as const;
  const entryKey = (key: readonly [string, number]) => `${topology.namespace}:cache:${key[0]}:${key[1]}`;
  const leaseKey = (key: readonly [string, number]) => `${topology.namespace}:cache~lease:{${entryKey(key)}}`;

  beforeAll(async () => {
    opened = await openCache(topology);
    ({ cache } = opened);
  });
  afterAll(() => opened?.close());

  it('runs the factory once, and answers later calls from Redis', async () => {
    const key = fresh();
    let runs = 0;
    const load = () => cache.getOrSet(key, async () => ({ run: ++runs }));
    expect(await load()).toEqual({ run: 1 });
    expect(await load()).toEqual({ run: 1 });
    expect(await cache.get(key)).toEqual({ run: 1 });
    expect(runs).toBe(1);
  });

  it.each([
    ['null', null],
    ['undefined', undefined],
    ['false', false],
    ['zero', 0],
    ['minus zero', -0],
    ['NaN', Number.NaN],
    ['an empty text', ''],
    ['a text that looks like a date', '2026-11-30T00:00:00.000Z'],
    ['a Date', new Date(86_400_000)],
    ['a Map in an object', { stock: new Map([['lamp', 3n]]) }],
    ['a Set of Dates', new Set([new Date(0)])],
    ['a Buffer', Buffer.from([0, 255, 10])],
    ['a text with newlines and semicolons', 'a\n~1;v=3;i=x;w=0\n;'],
    ['an object with the key $', { $: 'date', v: 'no' }],
  ])('gives back %s as it was, without a second run', async (_name, value) => {
    const key = fresh();
    let runs = 0;
    const load = () =>
      cache.getOrSet(key, async () => {
        runs++;
        return value;
      });
    expect(await load()).toEqual(value);
    expect(await load()).toEqual(value);
    expect(runs).toBe(1);
    expect(await cache.has(key)).toBe(true);
  });

  it('tells a miss from cached null and undefined by has()', async () => {
    const key = fresh();
    expect(await cache.get(key)).toBeUndefined();
    expect(await cache.has(key)).toBe(false);
    await cache.set(key, null);
    expect(await cache.get(key)).toBeNull();
    await cache.set(key, undefined);
    expect(await cache.get(key)).toBeUndefined();
    expect(await cache.has(key)).toBe(true);
  });

  it('gives each caller a copy of its own, callers who share a load included', async () => {
    const key = fresh();
    const load = () => cache.getOrSet(key, async () => ({ list: [1] }));
    const values = await Promise.all([load(), load(), load()]);
    values.push(await load(), await load());
    values.forEach((value, index) => value.list.push(index));
    expect(new Set(values).size).toBe(5);
    expect(await load()).toEqual({ list: [1] });
  });

  it('writes a readable header, a time to live within the jitter, and leaves no lease', async () => {
    const key = fresh();
    await cache.getOrSet(key, async () => 'x', { ttl: '100s', jitter: 0.5 });
    expect(await topology.admin.client.get(entryKey(key))).toMatch(
      /^~1;v=;i=[\w-]{12,};w=0;d=\d+;s=0;c=json;z=;k=;g=\n"x"$/,
    );
    const left = await topology.admin.client.pttl(entryKey(key));
    expect(left).toBeGreaterThan(49_000);
    expect(left).toBeLessThanOrEqual(100_000);
    expect(await topology.admin.client.exists(leaseKey(key))).toBe(0);
  });

  it('spreads times to live downwards only', async () => {
    const lifetimes = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const key = fresh();
        await cache.set(key, 1, { ttl: '1000s', jitter: 0.2 });
        return topology.admin.client.pttl(entryKey(key));
      }),
    );
    expect(Math.max(...lifetimes)).toBeLessThanOrEqual(1_000_000);
    expect(Math.min(...lifetimes)).toBeGreaterThan(799_000);
    expect(Math.max(...lifetimes) - Math.min(...lifetimes)).toBeGreaterThan(50_000);
  });

  it('forgets a value after its ttl', async () => {
    const key = fresh();
    await cache.set(key, 1, { ttl: 60 });
    await eventually(async () => expect(await cache.has(key)).toBe(false));
    expect(await cache.ttl(key)).toBeUndefined();
  });

  it('tells the milliseconds that are left', async () => {
    const key = fresh();
    expect(await cache.ttl(key)).toBeUndefined();
    await cache.set(key, 1, { ttl: '10s', jitter: 0 });
    const left = await cache.ttl(key);
    expect(left).toBeGreaterThan(8_000);
    expect(left).toBeLessThanOrEqual(10_000);
  });

  it('keeps empty values for negativeTtl, at most 30 s by default, and not at all with 0', async () => {
    const [byDefault, short, none] = [fresh(), fresh(), fresh()];
    await cache.getOrSet(byDefault, async () => null, { ttl: '1h', jitter: 0 });
    expect(await cache.ttl(byDefault)).toBeLessThanOrEqual(30_000);
    await cache.getOrSet(short, async () => undefined, { ttl: '1h', negativeTtl: '2s', jitter: 0 });
    expect(await cache.ttl(short)).toBeLessThanOrEqual(2_000);
    expect(await cache.getOrSet(none, async () => null, { negativeTtl: 0 })).toBeNull();
    expect(await cache.has(none)).toBe(false);
    expect(await topology.admin.client.exists(leaseKey(none))).toBe(0);
  });

  it('removes the former value when an empty one is set that is not to be kept', async () => {
    const key = fresh();
    await cache.set(key, 'former');
    expect(await cache.set(key, null, { negativeTtl: 0 })).toBe(false);
    expect(await cache.has(key)).toBe(false);
  });

  it('takes the ttl that the factory sets, cut to maxTtl, and does not store what it skips', async () => {
    const [own, long, skipped, never] = [fresh(), fresh(), fresh(), fresh()];
    await cache.getOrSet(own, async ({ setTtl }) => setTtl('9s'), { jitter: 0 });
    expect(await cache.ttl(own)).toBeLessThanOrEqual(9_000);
    await cache.getOrSet(long, async ({ setTtl }) => setTtl('30d'), { jitter: 0 });
    expect(await cache.ttl(long)).toBeLessThanOrEqual(7 * 86_400_000);
    await cache.getOrSet(skipped, async ({ skip }) => skip());
    await cache.getOrSet(never, async ({ setTtl }) => setTtl(0));
    expect(await Promise.all([cache.has(skipped), cache.has(never)])).toEqual([false, false]);
    expect(await topology.admin.client.exists(leaseKey(skipped))).toBe(0);
  });

  it('does not read with when() false, and does not store with unless() true', async () => {
    const key = fresh();
    await cache.set(key, 'cached');
    expect(await cache.getOrSet(key, async () => 'fresh', { when: () => false })).toBe('fresh');
    expect(await cache.get(key)).toBe('cached');
    await cache.evict(key);
    expect(await cache.getOrSet(key, async () => 'bad', { unless: (value) => value === 'bad' })).toBe('bad');
    expect(await cache.has(key)).toBe(false);
  });

  it('keeps the entry with the higher version, of any size', async () => {
    const key = fresh();
    expect(await cache.set(key, 'nine', { version: 9 })).toBe(true);
    expect(await cache.set(key, 'ten', { version: 10 })).toBe(true);
    expect(await cache.set(key, 'late nine', { version: 9 })).toBe(false);
    expect(await cache.get(key)).toBe('ten');
    expect(await cache.set(key, 'ten again', { version: 10n })).toBe(true);
    expect(await cache.set(key, 'big', { version: 2n ** 80n + 1n })).toBe(true);
    expect(await cache.set(key, 'big late', { version: 2n ** 80n })).toBe(false);
    expect(await cache.get(key)).toBe('big');
    expect(await cache.set(key, 'without version')).toBe(true);
  });

  it('evicts one or several, and says what there was', async () => {
    const [a, b, c] = [fresh(), fresh(), fresh()];
    await cache.set(a, 1);
    await cache.set(b, 2);
    expect(await cache.evict(a)).toBe(true);
    expect(await cache.evict(a)).toBe(false);
    await cache.set(a, 1);
    expect(await cache.evictMany([a, b, c, a])).toBe(2);
    expect(await cache.has(b)).toBe(false);
    expect(await cache.expire(c)).toBe(false);
    await cache.set(c, 3);
    expect(await cache.expire(c)).toBe(true);
    expect(await cache.has(c)).toBe(false);
  });

  it('takes text of another form, of another schema or damaged for a miss, and replaces it', async () => {
    const newer = '~1;v=;i=n;w=0;d=0;s=0;c=unheard-of;z=;k=;g=\n{}';
    const tagged = '~1;v=;i=t;w=0;d=0;s=0;c=json;z=;k=;g=users=abc\n1';
    const damaged = '~1;v=;i=d;w=0;d=0;s=0;c=json;z=;k=;g=\n{"cut":';
    for (const text of ['', 'plain', '~2;whatever\n1', newer, tagged, damaged]) {
      const key = fresh();
      await topology.admin.client.set(entryKey(key), text, 'PX', 60_000);
      expect([text, await cache.get(key), await cache.has(key)]).toEqual([text, undefined, false]);
      expect(await cache.getOrSet(key, async () => 'loaded')).toBe('loaded');
      expect(await cache.get(key)).toBe('loaded');
    }
  });

  it('reads entries of its own schema only, and never overwrites one of a higher schema', async () => {
    const key = fresh();
    const newer = await openCache(topology, { schemaVersion: 2 });
    try {
      await cache.set(key, 'old form');
      expect(await newer.cache.get(key)).toBeUndefined();
      expect(await newer.cache.getOrSet(key, async () => 'new form')).toBe('new form');
      expect(await cache.get(key)).toBeUndefined();
      expect(await cache.getOrSet(key, async () => 'old form')).toBe('old form');
      expect(await newer.cache.get(key)).toBe('new form');
      // What an older process sets must at least end the newer entry: its value is out of date.
      expect(await cache.set(key, 'old form')).toBe(false);
      expect(await newer.cache.has(key)).toBe(false);
    } finally {
      await newer.close();
    }
  });

  it('serves a load even where the key holds something else than text', async () => {
    const key = fresh();
    await topology.admin.client.lpush(entryKey(key), 'foreign');
    expect(await cache.get(key)).toBeUndefined();
    expect(await cache.getOrSet(key, async () => 'loaded')).toBe('loaded');
    expect(await topology.admin.client.lrange(entryKey(key), 0, -1)).toEqual(['foreign']);
  });

  it('returns a value that cannot be stored, and evicts the former one when it is set', async () => {
    class Order {
      readonly open = true;
    }
    const [loaded, set] = [fresh(), fresh()];
    const values = await Promise.all([1, 2].map(() => cache.getOrSet(loaded, async () => new Order())));
    expect(values.every((value) => value instanceof Order)).toBe(true);
    expect(values[0]).not.toBe(values[1]);
    expect(await cache.has(loaded)).toBe(false);
    await cache.set(set, 'former');
    await expect(cache.set(set, new Order())).rejects.toBeInstanceOf(CodecError);
    expect(await cache.has(set)).toBe(false);
  });

  it('passes on the error of a factory as it is, to all who wait, and caches nothing', async () => {
    const key = fresh();
    const error = new Error('database');
    const load = () => cache.getOrSet(key, () => Promise.reject(error));
    const results = await Promise.allSettled([load(), load()]);
    expect(results.map((result) => result.status === 'rejected' && result.reason === error)).toEqual([true, true]);
    await eventually(async () => expect(await topology.admin.client.exists(leaseKey(key))).toBe(0));
    expect(await cache.getOrSet(key, async () => 'next')).toBe('next');
  });

  it('keeps hostile key parts apart, and neighbours intact', async () => {
    const keys = [
      ['user', 'a:b'],
      ['user', 'a', 'b'],
      ['user', '{x}'],
      ['user', '*'],
      ['user', ''],
      ['user', null],
    ] as const;
    await Promise.all(keys.map((key, index) => cache.set(key, index)));
    expect(await Promise.all(keys.map((key) => cache.get(key)))).toEqual([0, 1, 2, 3, 4, 5]);
    await cache.evict(['user', '*']);
    expect(await Promise.all(keys.map((key) => cache.get(key)))).toEqual([0, 1, 2, undefined, 4, 5]);
  });

  it('keeps entry and lease of a key with a tag of its own in one slot', async () => {
    expect(await cache.getOrSet('{eu}:rates', async () => 1)).toBe(1);
    expect(await cache.evict('{eu}:rates')).toBe(true);
  });

  it('refuses wrong keys and options, and names what is wrong', async () => {
    await expect(cache.get('')).rejects.toBeInstanceOf(InvalidKeyError);
    await expect(cache.getOrSet('a', async () => 1, { ttl: '5 minutes' as '5m' })).rejects.toThrow(
      /CacheService\.getOrSet[^]*ttl/,
    );
    await expect(cache.set('a', 1, { ttl: '8d' })).rejects.toThrow(/cache\.maxTtl \(7d\)/);
    await expect(cache.set('a', 1, { version: -1 })).rejects.toBeInstanceOf(InvalidOptionsError);
    await expect(cache.set('a', 1, { wait: 1 } as object)).rejects.toThrow(/wait: unknown option/);
  });

  it('gives every key a time to live, at most maxTtl', async () => {
    const keys = await topology.admin.keys(`${topology.namespace}:cache*`);
    const lifetimes = await Promise.all(keys.map((key) => topology.admin.client.pttl(key)));
    const foreign = await Promise.all(keys.map((key) => topology.admin.client.type(key)));
    const own = lifetimes.filter((_, index) => foreign[index] === 'string');
    expect(own.length).toBeGreaterThan(20);
    expect(own.every((left) => left > 0 && left <= 7 * 86_400_000)).toBe(true);
  });
});
