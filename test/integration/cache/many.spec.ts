import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { CacheValueTooLargeError, type CacheOptions } from '../../../libs/redis-patterns/src/cache/index.js';
import { InvalidOptionsError } from '../../../libs/redis-patterns/src/core/index.js';
import type { Key } from '../../../libs/redis-patterns/src/keys/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { commandsOf, GatedFactory, openCache, type TestCache } from './test-cache.js';

describeOnEachTopology('many values', (topology) => {
  let here: TestCache;
  let there: TestCache;
  let names = 0;
  const redis = () => topology.admin.client;
  const keysOf = (...ids: number[]) => ids.map((id) => [`many${names}`, id] as const);
  const leases = () => topology.admin.keys(`${topology.namespace}:cache~lease:*`);

  beforeEach(async () => {
    names++;
    [here, there] = await Promise.all([openCache(topology), openCache(topology)]);
  });
  afterEach(() => Promise.all([here?.close(), there?.close()]));

  it('are read in one round trip, by the very keys that were given, undefined and null included', async () => {
    const keys = keysOf(1, 2, 3, 4);
    expect(
      await here.cache.setMany([
        [keys[0]!, 'a'],
        [keys[1]!, null],
        [keys[2]!, undefined],
      ]),
    ).toBe(3);
    const { names: commands, turns } = await commandsOf(here, () => here.cache.getMany(keys));
    expect(turns).toBe(1);
    if (topology.mode !== 'cluster') expect(commands).toEqual(['mget']);
    const found = await here.cache.getMany(keys);
    expect([...found.keys()].every((key, index) => key === keys[index])).toBe(true);
    expect([...found.values()]).toEqual(['a', null, undefined]);
    expect(await here.cache.getMany([])).toEqual(new Map());
  });

  it('are an error that says what to give when the loader gives no Map', async () => {
    const list = (async () => ['a']) as never;
    await expect(here.cache.getOrSetMany(keysOf(1, 2), list)).rejects.toThrow(/factory: must give a Map/);
    await expect(here.cache.getOrSetMany(keysOf(1), (() => undefined) as never)).rejects.toThrow(InvalidOptionsError);
  });

  it('are loaded by one call for those that are missing, and stored each under its lease', async () => {
    const keys = keysOf(1, 2, 3, 4);
    await here.cache.set(keys[1]!, 'cached');
    const asked: Key[][] = [];
    const values = await here.cache.getOrSetMany(keys, async (missing) => {
      asked.push(missing);
      return new Map<Key | string, unknown>([
        [missing[0]!, 'by key'],
        [`many${names}:3`, 'by text'],
      ]);
    });
    expect(asked).toEqual([[keys[0], keys[2], keys[3]]]);
    expect(asked[0]![0]).toBe(keys[0]);
    expect([...values.values()]).toEqual(['by key', 'cached', 'by text', undefined]);
    expect([...values.keys()].every((key, index) => key === keys[index])).toBe(true);
    // What the loader has not found is an empty value, and known as such for a while.
    expect(await here.cache.has(keys[3]!)).toBe(true);
    expect(await redis().pttl(`${topology.namespace}:cache:many${names}:4`)).toBeLessThanOrEqual(30_000);
    expect((await there.cache.getMany(keys)).size).toBe(4);
    expect(await leases()).toEqual([]);
  });

  it('share loads with single calls, with each other, and over processes: one load for each key', async () => {
    const keys = keysOf(1, 2, 3);
    const single = new GatedFactory<string>();
    const one = here.cache.getOrSet(keys[0]!, single.make);
    await eventually(() => single.runs === 1);
    const asked: unknown[][] = [];
    const bulk = async (missing: Key[]) => {
      asked.push(missing);
      return new Map(missing.map((key) => [key, `bulk ${JSON.stringify(key[1])}`]));
    };
    const both = [here, there].map(({ cache }) => cache.getOrSetMany(keys, bulk));
    await eventually(async () => expect((await there.cache.getMany(keys)).size).toBe(2));
    single.open(1, 'single');
    expect(await one).toBe('single');
    for (const values of await Promise.all(both)) expect([...values.values()]).toEqual(['single', 'bulk 2', 'bulk 3']);
    expect(asked.flat().length).toBe(2);
  });

  it('give each caller, and each repetition of a key, a copy of its own', async () => {
    const [key] = keysOf(1);
    const values = await here.cache.getOrSetMany(
      [key!, [...key!] as const],
      async ([missing]) => new Map([[missing!, { n: 1 }]]),
    );
    expect([...values.values()]).toEqual([{ n: 1 }, { n: 1 }]);
    expect(new Set(values.values()).size).toBe(2);
  });

  it('are loaded by one call also when keys are repeated, and without the cache when `when` says so', async () => {
    const keys = keysOf(1, 2);
    let runs = 0;
    const bulk = async (missing: Key[]) => new Map(missing.map((key) => [key, ++runs]));
    let calls = 0;
    const counted = (missing: Key[]) => (calls++, bulk(missing));
    const [one, two] = keys;
    const repeated = [one!, two!, [...one!] as const, [...two!] as const];
    expect([...(await here.cache.getOrSetMany(repeated, counted)).values()]).toEqual([1, 2, 1, 2]);
    expect(calls).toBe(1);
    const without = await here.cache.getOrSetMany(keys, counted, { when: () => false });
    expect([...without.values()]).toEqual([3, 4]);
    expect([...(await here.cache.getMany(keys)).values()]).toEqual([1, 2]);
  });

  it('do not come back after an eviction while they are loaded', async () => {
    const keys = keysOf(1, 2);
    const gated = new GatedFactory<string>();
    const loading = here.cache.getOrSetMany(keys, async (missing) => {
      const value = await gated.make();
      return new Map(missing.map((key) => [key, value]));
    });
    await eventually(() => gated.runs === 1);
    await there.cache.evict(keys[0]!);
    gated.open(1, 'old');
    await loading;
    expect([...(await there.cache.getMany(keys)).keys()]).toEqual([keys[1]]);
  });

  it('answer with stale copies at once, and refresh them', async () => {
    const keys = keysOf(1, 2);
    const options = { ttl: '1h', stale: '1h' } as const;
    await here.cache.setMany(
      keys.map((key) => [key, 'old'] as const),
      options,
    );
    await Promise.all(keys.map((key) => here.cache.expire(key)));
    const gated = new GatedFactory<string>();
    const bulk = async (missing: Key[]) => {
      const value = await gated.make();
      return new Map(missing.map((key) => [key, value]));
    };
    expect([...(await here.cache.getOrSetMany(keys, bulk, options)).values()]).toEqual(['old', 'old']);
    await eventually(() => gated.runs === 1);
    gated.open(1, 'new');
    await eventually(async () => expect([...(await here.cache.getMany(keys)).values()]).toEqual(['new', 'new']));
    expect(gated.runs).toBe(1);
  });

  it('fail with the error of the loader, and leave no lease behind', async () => {
    const error = new Error('database');
    await expect(here.cache.getOrSetMany(keysOf(1, 2), () => Promise.reject(error))).rejects.toBe(error);
    await eventually(async () => expect(await leases()).toEqual([]));
  });

  it('share tags, and are invalid together', async () => {
    const keys = keysOf(1, 2);
    const tags = [`tag ${names}`];
    await here.cache.setMany([[keys[0]!, 1]], { tags });
    await here.cache.getOrSetMany(keys, async (missing) => new Map(missing.map((key) => [key, 2])), { tags });
    expect([...(await there.cache.getMany(keys)).values()]).toEqual([1, 2]);
    await there.cache.invalidateTags(tags);
    expect((await here.cache.getMany(keys)).size).toBe(0);
  });

  it('clear deletes every entry and lease of the namespace, and nothing else', async () => {
    const near = await openCache({ ...topology, namespace: `${topology.namespace}x` });
    try {
      await here.cache.setMany(Array.from({ length: 1_500 }, (_, id) => [['many', id], id] as const));
      await near.cache.set('neighbour', 1);
      await redis().set(`${topology.namespace}:other`, 'stays', 'PX', 60_000);
      const gated = new GatedFactory<string>();
      const loading = there.cache.getOrSet('loading', gated.make);
      await eventually(() => gated.runs === 1);
      expect(await here.cache.clear()).toBeGreaterThanOrEqual(1_500);
      expect(await topology.admin.keys(`${topology.namespace}:cache:*`)).toEqual([]);
      gated.open(1, 'began before');
      await loading;
      expect(await here.cache.has('loading')).toBe(false);
      expect(await near.cache.get('neighbour')).toBe(1);
      expect(await redis().get(`${topology.namespace}:other`)).toBe('stays');
    } finally {
      await near.close();
    }
  });

  it('deletePattern deletes what the glob matches, counts without deleting, and stops at a limit', async () => {
    await here.cache.clear();
    for (const id of [1, 2, 3]) await here.cache.set(['p', id], id);
    await here.cache.set(['p*', 1], 'literal');
    await here.cache.set('{eu}:p', 'tagged');
    expect(await here.cache.deletePattern('p:*', { dryRun: true })).toBe(3);
    expect(await here.cache.has(['p', 1])).toBe(true);
    expect(await here.cache.deletePattern('p:*', { limit: 2 })).toBe(2);
    expect(await here.cache.deletePattern('p:*')).toBe(1);
    expect([await here.cache.has(['p*', 1]), await here.cache.has('{eu}:p')]).toEqual([true, true]);
    const gated = new GatedFactory<string>();
    const loading = ['{eu}:q', 'q'].map((key) => there.cache.getOrSet(key, gated.make));
    await eventually(() => gated.runs === 2);
    expect(await here.cache.deletePattern('*q')).toBe(0);
    gated.openAll('began before');
    await Promise.all(loading);
    expect([await here.cache.has('q'), await here.cache.has('{eu}:q')]).toEqual([false, false]);
    await expect(here.cache.deletePattern('')).rejects.toThrow(/glob/);
    await expect(here.cache.deletePattern('a', { limit: 0 })).rejects.toThrow(/limit/);
  });

  it('that are too large are not stored, and evict the former value', async () => {
    const open = (options: CacheOptions) => openCache(topology, { maxBytes: 1_000, ...options });
    const [skip, fail, store] = await Promise.all([
      open({}),
      open({ onOversize: 'throw' }),
      open({ onOversize: 'store' }),
    ]);
    const [key] = keysOf(1);
    const large = 'ü'.repeat(600);
    try {
      await here.cache.set(key!, 'former');
      expect(await skip.cache.set(key!, large)).toBe(false);
      expect(await here.cache.has(key!)).toBe(false);
      expect(await skip.cache.getOrSet(key!, async () => large)).toBe(large);
      expect(await here.cache.has(key!)).toBe(false);
      await here.cache.set(key!, 'former');
      await expect(fail.cache.set(key!, large)).rejects.toBeInstanceOf(CacheValueTooLargeError);
      await expect(fail.cache.getOrSet(key!, async () => large)).rejects.toMatchObject({
        bytes: 1202,
        maxBytes: 1_000,
      });
      await eventually(async () => expect(await leases()).toEqual([]));
      expect(await store.cache.set(key!, large)).toBe(true);
      expect(await here.cache.get(key!)).toBe(large);
    } finally {
      await Promise.all([skip, fail, store].map((one) => one.close()));
    }
  });
});
