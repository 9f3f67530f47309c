import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisUnavailableError } from '../../../libs/redis-patterns/src/connection/index.js';
import { telemetryChannel } from '../../../libs/redis-patterns/src/telemetry/index.js';
import { eventually } from '../../support/eventually.js';
import { startOwn, uniqueNamespace, type Topology } from '../../support/topologies.js';
import { GatedFactory, openCache, type TestCache } from './test-cache.js';

const TIMEOUT = 150;
const SLACK = 250;

describe('the cache while Redis fails', () => {
  let own: Topology;
  let opened: TestCache;
  let cache: TestCache['cache'];

  beforeAll(async () => {
    own = await startOwn('standalone', { user: 'cache' });
  });
  afterAll(() => own?.stop());
  beforeEach(async () => {
    opened = await openCache({ connection: own.connection, namespace: uniqueNamespace() }, {}, { closeTimeout: 50 });
    ({ cache } = opened);
  });
  afterEach(async () => {
    const [server] = own.nodes;
    own.resume(server!);
    await opened?.close();
  });

  const server = () => own.nodes[0]!;

  async function timed<T>(work: () => Promise<T>): Promise<{ value: T; ms: number }> {
    const startedAt = performance.now();
    const value = await work();
    return { value, ms: performance.now() - startedAt };
  }

  describe('frozen', () => {
    it('loads within operationTimeout, shared by the callers of this process', async () => {
      await cache.set('a', 'cached');
      own.freeze(server());
      const gated = new GatedFactory<string>();
      const { value, ms } = await timed(() => {
        const loads = Array.from({ length: 20 }, () => cache.getOrSet('a', gated.make));
        void eventually(() => gated.runs > 0).then(() => gated.open(1, 'own'));
        return Promise.all(loads);
      });
      expect(value).toEqual(Array(20).fill('own'));
      expect(gated.runs).toBe(1);
      expect(ms).toBeLessThan(TIMEOUT + SLACK);
      expect(await timed(() => cache.get('a'))).toEqual({ value: undefined, ms: expect.any(Number) });
    });

    it('rejects set and evict in time, and evicts when Redis goes on', async () => {
      await cache.set('a', 'before');
      own.freeze(server());
      for (const write of [() => cache.set('a', 'during'), () => cache.evict('a'), () => cache.evictMany(['a', 'b'])]) {
        const { value, ms } = await timed(() => write().catch((error: unknown) => error));
        expect(value).toBeInstanceOf(RedisUnavailableError);
        expect(value).toMatchObject({ outcome: 'unknown' });
        expect(ms).toBeLessThan(TIMEOUT + SLACK);
      }
      own.resume(server());
      await eventually(async () => {
        await cache.getOrSet('a', async () => 'after');
        expect(await cache.get('a')).toBe('after');
      });
    });

    it('answers in time when Redis freezes between begin and commit, and stores nothing late', async () => {
      const gated = new GatedFactory<string>();
      const loads = [cache.getOrSet('c', gated.make), cache.getOrSet('c', gated.make)];
      await eventually(() => gated.runs === 1);
      own.freeze(server());
      gated.open(1, 'loaded');
      const { value, ms } = await timed(() => Promise.all(loads));
      expect(value).toEqual(['loaded', 'loaded']);
      expect(ms).toBeLessThan(TIMEOUT + SLACK);
    });

    it('answers in time when Redis freezes while it waits for another loader', async () => {
      const { namespace } = opened.engine.context.keys;
      const lease = `${namespace}:cache~lease:{${namespace}:cache:d}`;
      await opened.engine.connection.client.set(lease, 'somebody-else', 'PX', 60_000);
      const waiting = cache.getOrSet('d', async () => 'own');
      await cache.has('d');
      await cache.has('d');
      own.freeze(server());
      const { value, ms } = await timed(() => waiting);
      expect(value).toBe('own');
      expect(ms).toBeLessThan(TIMEOUT + SLACK);
    });

    it('leaves no lease behind by a request for it that was given up, but runs later', async () => {
      const { namespace } = opened.engine.context.keys;
      const before = (operation: string) => {
        if (operation === 'cache.begin') own.freeze(server());
      };
      const freezing = await openCache(
        { connection: own.connection, namespace },
        { lease: '60s' },
        { closeTimeout: 50 },
        { before },
      );
      try {
        const { value, ms } = await timed(() => freezing.cache.getOrSet('e', async () => 'offline'));
        expect(value).toBe('offline');
        expect(ms).toBeLessThan(TIMEOUT + SLACK);
        own.resume(server());
        // What this connection has sent before has then been run.
        await eventually(async () => expect(await freezing.cache.set('other', 1)).toBe(true));
        const lease = `${namespace}:cache~lease:{${namespace}:cache:e}`;
        await eventually(async () => expect(await server().command('EXISTS', lease)).toBe(0));
      } finally {
        await freezing.close();
      }
    });

    it('does not let callers who reach Redis join a load that began without it', async () => {
      own.freeze(server());
      const gated = new GatedFactory<string>();
      const offline = cache.getOrSet('f', gated.make);
      await eventually(() => gated.runs === 1);
      own.resume(server());
      await eventually(async () => expect(await cache.set('other', 1)).toBe(true));
      const online = cache.getOrSet('f', gated.make);
      await cache.has('f');
      await cache.has('f');
      gated.open(1, 'began offline');
      expect(await offline).toBe('began offline');
      await eventually(() => gated.runs === 2);
      gated.open(2, 'began online');
      expect(await online).toBe('began online');
    });
  });

  describe('dead', () => {
    it('loads at once and shares the load, detaches it on evict, rejects writes, and heals', async () => {
      await own.kill(server());
      await eventually(async () => {
        const failure = await cache.evict('x').catch((error: unknown) => error);
        expect(failure).toMatchObject({ code: 'ERR_REDIS_NOT_READY', outcome: 'not-sent' });
      });
      const gated = new GatedFactory<string>();
      const { ms } = await timed(async () => {
        const loads = Array.from({ length: 10 }, () => cache.getOrSet('a', gated.make));
        await eventually(() => gated.runs === 1);
        gated.open(1, 'own');
        expect(await Promise.all(loads)).toEqual(Array(10).fill('own'));
      });
      expect(ms).toBeLessThan(TIMEOUT + SLACK);

      const early = cache.getOrSet('a', gated.make);
      await eventually(() => gated.runs === 2);
      await expect(cache.evict('a')).rejects.toBeInstanceOf(RedisUnavailableError);
      const late = cache.getOrSet('a', gated.make);
      await eventually(() => gated.runs === 3);
      gated.open(2, 'before the eviction');
      gated.open(3, 'after the eviction');
      expect(await Promise.all([early, late])).toEqual(['before the eviction', 'after the eviction']);
      await expect(cache.set('a', 1)).rejects.toBeInstanceOf(RedisUnavailableError);
      expect(await cache.has('a')).toBe(false);
      expect(await cache.ttl('a')).toBeUndefined();

      await own.restart(server(), { data: 'wipe' });
      await eventually(async () => {
        await cache.getOrSet('a', async () => 'again');
        expect(await cache.get('a')).toBe('again');
      });
    });
  });

  it('takes a key whose eviction failed for missing until Redis has been told, also when the entry lives', async () => {
    const other = await openCache({ connection: own.connection, namespace: opened.engine.context.keys.namespace });
    try {
      await cache.set('p', 'out of date', { ttl: '1h' });
      own.freeze(server());
      await expect(cache.evict('p')).rejects.toBeInstanceOf(RedisUnavailableError);
      own.resume(server());
      expect(await cache.getOrSet('p', async () => 'fresh')).toBe('fresh');
      await eventually(async () => expect(await other.cache.has('p')).toBe(false));
    } finally {
      await other.close();
    }
  });

  it('loads, but stores nothing and keeps nobody waiting, when Redis is out of memory', async () => {
    await server().command('CONFIG', 'SET', 'maxmemory', '1');
    try {
      expect(await cache.getOrSet('m', async () => 'loaded')).toBe('loaded');
      const { ms } = await timed(() => cache.getOrSet('m', async () => 'loaded'));
      expect(ms).toBeLessThan(TIMEOUT + SLACK);
      await expect(cache.set('m', 1)).rejects.toMatchObject({ reply: 'OOM' });
      expect(await cache.evict('m')).toBe(false);
    } finally {
      await server().command('CONFIG', 'SET', 'maxmemory', '0');
    }
  });

  it('reports an eviction that Redis refuses for good, once, and gives it up', async () => {
    const errors: unknown[] = [];
    const listen = (message: unknown) => errors.push(message);
    subscribe(telemetryChannel('error'), listen);
    const { username } = own.users!.app;
    try {
      await server().command('ACL', 'SETUSER', username, '-del');
      await expect(cache.evict('r')).rejects.toMatchObject({ code: 'ERR_REDIS_COMMAND' });
      await eventually(() => errors.length > 0);
      expect(errors).toEqual([expect.objectContaining({ code: 'ERR_CACHE_INVALIDATION', pattern: 'Cache' })]);
    } finally {
      await server().command('ACL', 'SETUSER', username, '+del');
      unsubscribe(telemetryChannel('error'), listen);
    }
    expect(await cache.getOrSet('r', async () => 1)).toBe(1);
    expect(await cache.get('r')).toBe(1);
  });
});
