import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { CacheLoadTimeoutError } from '../../../libs/redis-patterns/src/cache/index.js';
import { telemetryChannel } from '../../../libs/redis-patterns/src/telemetry/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { commandsOf, GatedFactory, openCache, type TestCache } from './test-cache.js';

const STALE = { ttl: '1h', stale: '1h', jitter: 0 } as const;

describeOnEachTopology('stale copies', (topology) => {
  let here: TestCache;
  let there: TestCache;
  let names = 0;
  let key: readonly [string, number];
  let gated: GatedFactory<string>;

  const entryKey = () => `${topology.namespace}:cache:stale:${names}`;
  const leaseKey = () => `${topology.namespace}:cache~lease:{${entryKey()}}`;
  const redis = () => topology.admin.client;
  const load = (options: object = {}, from = here) => from.cache.getOrSet(key, gated.make, { ...STALE, ...options });

  beforeEach(async () => {
    key = ['stale', ++names];
    gated = new GatedFactory();
    [here, there] = await Promise.all([openCache(topology), openCache(topology)]);
  });
  afterEach(async () => {
    gated?.openAll('late');
    await Promise.all([here?.close(), there?.close()]);
  });

  async function stale(value: string, options: object = {}): Promise<void> {
    await here.cache.set(key, value, { ...STALE, ...options });
    await here.cache.expire(key);
  }

  it('are kept for the stale time after the fresh time, and only getOrSet answers with them', async () => {
    await here.cache.set(key, 'value', { ttl: '1m', stale: '10m', jitter: 0 });
    expect(await redis().get(entryKey())).toMatch(/^~1;v=;i=[^;]+;w=600000;/);
    expect(await redis().pttl(entryKey())).toBeGreaterThan(655_000);
    expect(await here.cache.get(key)).toBe('value');
    expect(await here.cache.ttl(key)).toBeLessThanOrEqual(60_000);
    expect(await here.cache.expire(key)).toBe(true);
    expect([await here.cache.get(key), await here.cache.has(key), await here.cache.ttl(key)]).toEqual([
      undefined,
      false,
      0,
    ]);
    expect(await redis().pttl(entryKey())).toBeLessThanOrEqual(600_000);
    expect(await load()).toBe('value');
  });

  it('cost a hit one round trip, and become fresh when their time says so', async () => {
    await here.cache.set(key, 'value', { ttl: 60, stale: '1h', jitter: 0 });
    const { names: commands, turns } = await commandsOf(here, () => load());
    expect([commands.toSorted(), turns]).toEqual([['get', 'pttl'], 1]);
    await eventually(async () => expect(await here.cache.ttl(key)).toBe(0));
    expect(await load()).toBe('value');
    await eventually(() => gated.runs === 1);
  });

  it('answer at once while one background load refreshes them, over all processes', async () => {
    await stale('old');
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => load({}, index % 2 ? here : there)));
    expect(answers).toEqual(Array(20).fill('old'));
    await eventually(() => gated.runs === 1);
    expect(await load()).toBe('old');
    gated.open(1, 'new');
    await eventually(async () => expect(await there.cache.get(key)).toBe('new'));
    expect(await load()).toBe('new');
    expect(gated.runs).toBe(1);
    expect(here.cache.stats().staleHits + there.cache.stats().staleHits).toBe(21);
  });

  it('answer only when the new value does not come within the soft timeout', async () => {
    await stale('old');
    const quick = load({ timeouts: { soft: '20s' } });
    await eventually(() => gated.runs === 1);
    gated.open(1, 'new');
    expect(await quick).toBe('new');
    await here.cache.expire(key);
    expect(await load({ timeouts: { soft: 50 } })).toBe('new');
    gated.open(2, 'late');
    await eventually(async () => expect(await here.cache.get(key)).toBe('late'));
  });

  it('answer when the factory fails, which is reported and not tried again for a while', async () => {
    const errors: unknown[] = [];
    const listen = (message: unknown) => errors.push(message);
    subscribe(telemetryChannel('error'), listen);
    try {
      await stale('old');
      const failing = (from: TestCache) =>
        from.cache.getOrSet(key, () => (gated.runs++, Promise.reject(new Error('database'))), {
          ...STALE,
          timeouts: { soft: '5s' },
          failBackoff: '60s',
        });
      expect(await failing(here)).toBe('old');
      await eventually(async () => expect(await redis().get(leaseKey())).toBe('~'));
      expect(await redis().pttl(leaseKey())).toBeGreaterThan(50_000);
      expect([await failing(here), await failing(there)]).toEqual(['old', 'old']);
      expect(gated.runs).toBe(1);
      await eventually(() => expect(errors).toEqual([expect.objectContaining({ code: 'ERR_CACHE_REFRESH' })]));
      // Without a copy there is nothing to wait for.
      await here.cache.evict(key);
      await expect(failing(here)).rejects.toThrow('database');
      expect(gated.runs).toBe(2);
    } finally {
      unsubscribe(telemetryChannel('error'), listen);
    }
  });

  it('give the factory a copy of the former value', async () => {
    await here.cache.set(key, { list: [1] }, STALE);
    await here.cache.expire(key);
    const seen: unknown[] = [];
    const factory = async (context: { stale?: unknown }) => {
      seen.push(context.stale);
      (context.stale as { list: number[] }).list.push(2);
      return { list: [3] };
    };
    expect(await here.cache.getOrSet(key, factory, STALE)).toEqual({ list: [1] });
    await eventually(async () => expect(await here.cache.get(key)).toEqual({ list: [3] }));
    expect(seen).toEqual([{ list: [1, 2] }]);
  });

  it('do not answer after an eviction, nor when one of their tags is invalid', async () => {
    await stale('old', { tags: ['t'] });
    expect(await load({ tags: ['t'] })).toBe('old');
    await eventually(() => gated.runs === 1);
    await there.cache.invalidateTags(['t']);
    const next = load({ tags: ['t'] });
    gated.open(1, 'loaded before the invalidation');
    await eventually(() => gated.runs === 2);
    gated.open(2, 'new');
    expect(await next).toBe('new');
    await here.cache.expire(key);
    await there.cache.evict(key);
    const afterwards = load({ tags: ['t'] });
    await eventually(() => gated.runs === 3);
    gated.open(3, 'newest');
    expect(await afterwards).toBe('newest');
  });

  it.each(['evict', 'set', 'expire', 'clear'] as const)(
    'are not brought back by a refresh that began before %s',
    async (kind) => {
      await stale('old');
      expect(await load()).toBe('old');
      await eventually(() => gated.runs === 1);
      if (kind === 'set') await there.cache.set(key, 'set', STALE);
      else if (kind === 'clear') await there.cache.clear();
      else await there.cache[kind](key);
      gated.open(1, 'refreshed');
      await eventually(() => here.cache.stats().fenced === 1);
      expect(await here.cache.get(key)).toBe(kind === 'set' ? 'set' : undefined);
    },
  );

  it('answer while another process refreshes, however long that takes', async () => {
    await stale('old');
    await redis().set(leaseKey(), 'somebody-else', 'PX', 60_000);
    expect(await load({ timeouts: { soft: '20s' } })).toBe('old');
    expect(gated.runs).toBe(0);
  });

  it('have no copy of an empty value', async () => {
    await here.cache.set(key, null, STALE);
    expect(await redis().get(entryKey())).toMatch(/;w=0;/);
  });

  it('a hard timeout aborts the factory, and a copy answers, else an error', async () => {
    const signals: AbortSignal[] = [];
    const never = ({ signal }: { signal: AbortSignal }) => {
      signals.push(signal);
      return new Promise<string>(() => {});
    };
    const options = { ...STALE, timeouts: { soft: '20s', hard: 60 } } as const;
    const failure = await here.cache.getOrSet(key, never, options).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CacheLoadTimeoutError);
    expect(failure).toMatchObject({ code: 'ERR_CACHE_LOAD_TIMEOUT', timeout: 60 });
    expect(signals[0]!.aborted).toBe(true);
    await eventually(async () => expect(await redis().exists(leaseKey())).toBe(0));
    await stale('old');
    expect(await here.cache.getOrSet(key, never, options)).toBe('old');
  });

  it('an early refresh happens before the end, once for each generation, and leaves the time to live alone', async () => {
    const early = { ttl: '1h', jitter: 0, earlyRefresh: { beta: 100 } } as const;
    // A load that took long, and little time left: as good as certain.
    await redis().set(entryKey(), '~1;v=;i=first;w=0;d=100000;s=0;c=json;z=;k=;g=\n"first"', 'PX', 60_000);
    const hits = await Promise.all(Array.from({ length: 20 }, (_, index) => load(early, index % 2 ? here : there)));
    expect(hits).toEqual(Array(20).fill('first'));
    await eventually(() => gated.runs === 1);
    expect(await load(early)).toBe('first');
    expect(await redis().pttl(entryKey())).toBeLessThanOrEqual(60_000);
    await there.cache.evict(key);
    gated.open(1, 'refreshed too late');
    await eventually(() => here.cache.stats().fenced + there.cache.stats().fenced === 1);
    expect(await here.cache.has(key)).toBe(false);
    await redis().set(entryKey(), '~1;v=;i=second;w=0;d=100000;s=0;c=json;z=;k=;g=\n"second"', 'PX', 60_000);
    expect(await load(early)).toBe('second');
    await eventually(() => gated.runs === 2);
    gated.open(2, 'third');
    await eventually(async () => expect(await here.cache.get(key)).toBe('third'));
    // Fresh for an hour, and loaded in no time: as good as never.
    for (let n = 0; n < 20; n++) expect(await load({ ...early, earlyRefresh: { beta: 0.001 } })).toBe('third');
    expect(gated.runs).toBe(2);
  });

  it("stampede 'local' loads beside another process, 'none' beside every caller; the owner alone stores", async () => {
    const first = load({ stampede: 'local' });
    await eventually(() => gated.runs === 1);
    const second = load({ stampede: 'local' }, there);
    await eventually(() => gated.runs === 2);
    const third = load({ stampede: 'none' });
    await eventually(() => gated.runs === 3);
    gated.open(3, 'third');
    gated.open(2, 'second');
    expect(await Promise.all([second, third])).toEqual(['second', 'third']);
    expect(await here.cache.has(key)).toBe(false);
    gated.open(1, 'first');
    expect(await first).toBe('first');
    expect(await here.cache.get(key)).toBe('first');
  });
});
