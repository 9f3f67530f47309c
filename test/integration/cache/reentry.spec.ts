import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { CacheReentryError, type CacheLoadOptions } from '../../../libs/redis-patterns/src/cache/index.js';
import type { Key } from '../../../libs/redis-patterns/src/keys/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { GatedFactory, openCache, type TestCache } from './test-cache.js';

const OPTIONS: CacheLoadOptions<number>[] = [{}, { stampede: 'local' }];

describeOnEachTopology('a load that asks for what it makes', (topology) => {
  let here: TestCache;
  let names = 0;
  const key = (name: string): Key => [`reentry${names}`, name];

  beforeEach(async () => {
    names++;
    here = await openCache(topology);
  });
  afterEach(() => here?.close());

  it.each(OPTIONS)('is an error at once that names the key, and leaves no load behind: %j', async (options) => {
    const { cache } = here;
    const asks = cache.getOrSet(key('a'), () => cache.getOrSet(key('a'), async () => 1, options), options);
    await expect(asks).rejects.toBeInstanceOf(CacheReentryError);
    await expect(asks).rejects.toThrow(`'${topology.namespace}:cache:reentry${names}:a'`);
    expect(cache.stats().running).toBe(0);
    expect(await cache.getOrSet(key('a'), async () => 2)).toBe(2);
  });

  it('is found by way of other loads, also where they were begun by another caller', async () => {
    const { cache } = here;
    const [first, second] = [new GatedFactory<void>(), new GatedFactory<void>()];
    const one = cache.getOrSet(key('a'), async () => {
      await first.make();
      return cache.getOrSet(key('b'), async () => 'b by a');
    });
    const other = cache.getOrSet(key('b'), async () => {
      await second.make();
      return cache.getOrSet(key('a'), async () => 'a by b');
    });
    await eventually(() => expect([first.runs, second.runs]).toEqual([1, 1]));
    first.openAll(undefined);
    second.openAll(undefined);
    const results = await Promise.allSettled([one, other]);
    expect(results.map((result) => result.status === 'rejected' && result.reason)).toEqual([
      expect.any(CacheReentryError),
      expect.any(CacheReentryError),
    ]);
  });

  it('is found in a loader of many', async () => {
    const { cache } = here;
    const asks = cache.getOrSetMany([key('a'), key('b')], async (missing) => {
      const b = await cache.getOrSet(key('b'), async () => 'b');
      return new Map(missing.map((one) => [one, b]));
    });
    await expect(asks).rejects.toBeInstanceOf(CacheReentryError);
  });

  it('is none where the loads are other ones, or the work outlives the load that began it', async () => {
    const { cache } = here;
    let later: Promise<unknown> = Promise.resolve();
    const ended = new GatedFactory<void>();
    const part = (): Promise<number> => cache.getOrSet(key('part'), async () => 1);
    const sum = await cache.getOrSet(key('sum'), async () => {
      later = ended.make().then(() => cache.getOrSet(key('sum'), async () => 'again'));
      const parts = await Promise.all([
        part(),
        part(),
        cache.getOrSetMany([key('x')], async ([x]) => new Map([[x, 2]])),
      ]);
      return parts[0] + parts[1] + parts[2].size;
    });
    expect(sum).toBe(3);
    await cache.evict(key('sum'));
    ended.openAll(undefined);
    expect(await later).toBe('again');
  });
});
