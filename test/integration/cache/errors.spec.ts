import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import {
  CachedLoadError,
  CacheLoadTimeoutError,
  CachePolicy,
  defineCache,
} from '../../../libs/redis-patterns/src/cache/index.js';
import { InvalidOptionsError } from '../../../libs/redis-patterns/src/core/errors.js';
import { telemetryChannel } from '../../../libs/redis-patterns/src/telemetry/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { GatedFactory, openCache, type Hooks, type TestCache } from './test-cache.js';

class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly code = 'ERR_UPSTREAM';
  readonly status = 503;
}

describeOnEachTopology('errors that are remembered', { user: 'cache' }, (topology) => {
  const error = new UpstreamError('try later');
  const hooks: Hooks = {};
  let here: TestCache;
  let there: TestCache;
  let key: readonly [string, number];
  let runs = 0;

  beforeAll(async () => {
    const passed = { after: (operation: string) => hooks.after?.(operation) };
    here = await openCache(topology, { operationTimeout: '5s' }, {}, passed);
    there = await openCache(topology, { operationTimeout: '5s' });
  });
  afterAll(() => Promise.all([here?.close(), there?.close()]));
  beforeEach(() => {
    key = ['failing', (key?.[1] ?? 0) + 1];
    runs = 0;
    delete hooks.after;
  });

  const fail = async (): Promise<never> => {
    runs++;
    throw error;
  };
  const options = { ttl: '1h', cacheErrors: (e: unknown) => (e === error ? '1m' : undefined) } as const;
  const failHere = (more: object = {}) => here.cache.getOrSet(key, fail, { ...options, ...more });
  const entryKey = () => `${topology.namespace}:cache:failing:${key[1]}`;
  const isRemembered = async (one = there, more: object = {}) => {
    const before = runs;
    const answer = await one.cache.getOrSet(key, fail, { ...options, ...more }).catch((e: unknown) => e);
    return answer instanceof CachedLoadError && runs === before;
  };

  it('are given to later callers in every process as what they are, and to the first one unchanged', async () => {
    await expect(failHere()).rejects.toBe(error);
    for (const { cache } of [here, there]) {
      const known = cache.getOrSet(key, fail, options);
      const failure = { name: 'UpstreamError', message: 'try later', code: 'ERR_UPSTREAM', status: 503 };
      await expect(known).rejects.toMatchObject({ code: 'ERR_CACHE_LOAD_FAILED', failure });
      await expect(known).rejects.toThrow(/failed with UpstreamError: try later$/);
      expect([await cache.get(key), await cache.has(key), await cache.ttl(key)]).toEqual([undefined, false, undefined]);
      expect((await cache.getMany([key])).size).toBe(0);
    }
    expect(runs).toBe(1);
    expect(here.cache.stats().errorHits).toBe(1);
    const left = await topology.admin.client.pttl(entryKey());
    expect(left).toBeGreaterThan(50_000);
    expect(left).toBeLessThanOrEqual(60_000);
  });

  it('are forgotten when their time is over', async () => {
    await expect(failHere({ cacheErrors: () => 50 })).rejects.toBe(error);
    await eventually(async () => {
      expect(await there.cache.getOrSet(key, async () => 'well again', options)).toBe('well again');
    });
  });

  it('are a miss for a call without the option, whose value takes their place', async () => {
    await expect(failHere({ tags: ['t'] })).rejects.toBe(error);
    expect(await there.cache.getOrSet(key, async () => 'value', { ttl: '1h' })).toBe('value');
    expect(await failHere()).toBe('value');
  });

  it.each<[string, (cache: TestCache['cache']) => Promise<unknown>]>([
    ['evict', (cache) => cache.evict(key)],
    ['expire', (cache) => cache.expire(key)],
    ['set', (cache) => cache.set(key, 'value', { tags: ['group'] })],
    ['an invalidation of their tag', (cache) => cache.invalidateTags(['group'])],
    ['clear', (cache) => cache.clear()],
  ])('are ended by %s, also while the load runs', async (_name, end) => {
    const tagged = { tags: ['group'] };
    await expect(failHere(tagged)).rejects.toBe(error);
    expect(await isRemembered(there, tagged)).toBe(true);
    await end(there.cache);
    expect(await here.cache.getOrSet(key, async () => 'value', options)).toBe('value');
    await here.cache.evict(key);
    const gated = new GatedFactory<string>();
    const loading = here.cache.getOrSet(key, gated.make, { ...options, ...tagged });
    await eventually(() => gated.runs === 1);
    await end(there.cache);
    gated.fail(1, error);
    await expect(loading).rejects.toBe(error);
    expect(await here.cache.getOrSet(key, async () => 'value', { ...options, ...tagged })).toBe('value');
  });

  it('reach those who wait: the error itself in the same process, what is known of it in another', async () => {
    const gated = new GatedFactory<string>();
    const load = ({ cache }: TestCache) => cache.getOrSet(key, gated.make, options).catch((e: unknown) => e);
    const waiting = [load(here), load(here), load(there), load(there)];
    await eventually(() => gated.runs === 1);
    gated.fail(1, error);
    const answers = await Promise.all(waiting);
    const [mine, known] = [answers.filter((one) => one === error), answers.filter((one) => one !== error)];
    expect([mine.length, known.length, gated.runs]).toEqual([2, 2, 1]);
    expect(known.every((one) => one instanceof CachedLoadError)).toBe(true);
    expect(known[0]).not.toBe(known[1]);
  });

  it('are not given to a caller who came after an eviction, but joined a load that had found them before', async () => {
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
    let begun = false;
    hooks.after = (operation) => {
      // Between the read and the question for the lease another process fails.
      if (operation === 'cache.get' && !begun)
        return there.cache.getOrSet(key, fail, options).then(undefined, () => {});
      if (operation !== 'cache.begin' || begun) return undefined;
      begun = true;
      return held;
    };
    const first = here.cache.getOrSet(key, async () => 'never', options);
    const refused = expect(first).rejects.toBeInstanceOf(CachedLoadError);
    await eventually(() => begun);
    await there.cache.evict(key);
    const late = here.cache.getOrSet(key, async () => 'value', options);
    await here.cache.has(key);
    release();
    await refused;
    expect(await late).toBe('value');
  });

  it('never take the place of a stale copy, nor are they kept in memory', async () => {
    const near = await openCache(topology, { l1: true, operationTimeout: '5s' });
    try {
      await there.cache.set(key, 'former', { ttl: '1h', stale: '1h' });
      await there.cache.expire(key);
      expect(await failHere({ stale: '1h' })).toBe('former');
      await eventually(() => runs === 1 && here.cache.stats().running === 0);
      expect(await here.cache.ttl(key)).toBe(0);
      await there.cache.evict(key);
      const store = async () => {
        await there.cache.set(key, 'meanwhile', { ttl: '1h', stale: '1h' });
        await there.cache.expire(key);
      };
      hooks.after = (operation) => (operation === 'cache.get' ? store() : undefined);
      await expect(failHere()).rejects.toBe(error);
      expect(await there.cache.ttl(key)).toBe(0);
      delete hooks.after;
      await there.cache.evict(key);
      await expect(failHere()).rejects.toBe(error);
      await eventually(() => near.cache.stats().l1!.armed);
      expect(await isRemembered(near)).toBe(true);
      expect(near.cache.stats().l1!.size).toBe(0);
    } finally {
      await near.close();
    }
  });

  it('may be an option of a region, for its calls and its decorated methods', async () => {
    const { cacheErrors } = options;
    const region = defineCache<[id: number], never>({ resource: 'fails', key: (id) => id, cacheErrors });
    await expect(here.cache.getOrSet(region.key(1), fail, region.optionsFor(1))).rejects.toBe(error);
    const ofMethod = CachePolicy.forEntries(region.options, there.cache.options, 'Upstream.ask').withTags([]);
    await expect(there.cache.getOrSet(region.key(1), fail, ofMethod)).rejects.toThrow(/of Upstream\.ask has failed/);
    expect(runs).toBe(1);
  });

  it('of many keys are remembered for each of them', async () => {
    const keys = [1, 2, 3].map((part) => [...key, part] as const);
    const loadMany = () => there.cache.getOrSetMany(keys, fail, options);
    await there.cache.set(keys[0]!, 'there');
    await expect(loadMany()).rejects.toBe(error);
    await expect(loadMany()).rejects.toBeInstanceOf(CachedLoadError);
    await expect(here.cache.getOrSet(keys[2]!, fail, options)).rejects.toBeInstanceOf(CachedLoadError);
    expect(runs).toBe(1);
  });

  it.each<[string, object]>([
    ['undefined', { cacheErrors: () => undefined }],
    ['0', { cacheErrors: () => 0 }],
    ['what is no time', { cacheErrors: () => 'soon' }],
    ['an error', { cacheErrors: () => JSON.parse('?') as never }],
  ])(
    'are not when the function gives %s; the caller gets the factory’s error, the next one runs it',
    async (_, given) => {
      const warnings: { message?: string }[] = [];
      const listen = (message: unknown) => warnings.push(message as object);
      subscribe(telemetryChannel('warning'), listen);
      try {
        const mine = [...key, _] as const;
        await expect(here.cache.getOrSet(mine, fail, given)).rejects.toBe(error);
        await expect(here.cache.getOrSet(mine, fail, given)).rejects.toBe(error);
        expect(runs).toBe(2);
        expect(warnings.every(({ message }) => message!.includes('cacheErrors'))).toBe(true);
        await eventually(async () => {
          expect(await topology.admin.keys(`${topology.namespace}:cache~lease:*`)).toEqual([]);
        });
      } finally {
        unsubscribe(telemetryChannel('warning'), listen);
      }
    },
  );

  it('are not when the load was ended from outside', async () => {
    const slow = new GatedFactory<string>();
    const timeouts = { hard: 30 } as const;
    const late = here.cache.getOrSet(key, slow.make, { cacheErrors: () => '1m', timeouts });
    await expect(late).rejects.toBeInstanceOf(CacheLoadTimeoutError);
    expect(await here.cache.getOrSet(key, async () => 'value', options)).toBe('value');
  });

  it('hold text of a bounded length, whatever was thrown, and are a miss when damaged', async () => {
    const thrown = [
      [Object.assign(new Error('x'.repeat(5_000)), { code: 42, statusCode: 429 }), { code: 42, status: 429 }],
      ['only text', { name: 'Error', message: 'only text' }],
      [null, { name: 'Error', message: 'null' }],
      [Object.assign(new Error('é\n;'), { code: {}, status: '503' }), { name: 'Error', message: 'é\n;' }],
    ] as const;
    for (const [index, [cause, failure]] of thrown.entries()) {
      const mine = [...key, index] as const;
      const load = () => here.cache.getOrSet(mine, () => Promise.reject(cause as Error), { cacheErrors: () => '1m' });
      await load().catch(() => {});
      await expect(load()).rejects.toMatchObject({ failure });
      expect(await topology.admin.client.strlen(`${entryKey()}:${index}`)).toBeLessThan(1_300);
    }
    await expect(failHere()).rejects.toBe(error);
    const text = await topology.admin.client.get(entryKey());
    await topology.admin.client.set(entryKey(), text!.slice(0, -5), 'PX', 60_000);
    expect(await here.cache.getOrSet(key, async () => 'value', options)).toBe('value');
  });

  it('need a function', async () => {
    const bad = { cacheErrors: '1m' } as never;
    await expect(here.cache.getOrSet(key, fail, bad)).rejects.toBeInstanceOf(InvalidOptionsError);
    expect(runs).toBe(0);
  });
});
