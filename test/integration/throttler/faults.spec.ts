import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { RedisUnavailableError } from '../../../libs/redis-patterns/src/connection/index.js';
import { RateLimitUnavailableError } from '../../../libs/redis-patterns/src/rate-limit/index.js';
import { eventually } from '../../support/eventually.js';
import { startOwn, startProxy, uniqueNamespace, type Mode, type Topology } from '../../support/topologies.js';
import { hit, openStorage, type TestStorage } from './test-storage.js';

const DEADLINE = 100;
const SLACK = 250;

describe.each<Mode>(['standalone', 'sentinel', 'cluster'])(
  'the storage for @nestjs/throttler while %s fails',
  (mode) => {
    let own: Topology;
    let stores: Record<'open' | 'closed' | 'local', TestStorage>;
    let masters: Topology['nodes'] = [];

    beforeAll(async () => {
      own = await startOwn(mode, { user: 'rateLimit' });
      const place = { connection: own.connection, namespace: uniqueNamespace() };
      const open = (onStoreError: keyof typeof stores): Promise<TestStorage> =>
        openStorage(place, { onStoreError, deadline: DEADLINE, localShare: 0.5 }, { closeTimeout: 50 });
      stores = { open: await open('open'), closed: await open('closed'), local: await open('local') };
    });
    afterEach(() => masters.forEach((master) => own.resume(master)));
    afterAll(async () => {
      await Promise.all(Object.values(stores ?? {}).map((each) => each.close()));
      await own?.stop();
    });

    it('a frozen server is decided without by the deadline, and nobody is above a limit for it', async () => {
      // A busy machine may miss the deadline of the very first calls.
      for (const { storage } of Object.values(stores)) {
        await eventually(async () => expect((await storage.incrementAll([hit('a')]))[0]!.timeToExpire).toBe(60), {
          timeout: 15_000,
        });
      }
      const warmUps = stores.local.local.calls.length;
      masters = await own.masters();
      masters.forEach((master) => own.freeze(master));
      const limits = [hit('a'), hit('a', { throttlerName: 'long', limit: 9 }), hit('b', { throttlerName: 'other' })];
      const startedAt = performance.now();
      const [open, closed, local] = await Promise.all([
        stores.open.storage.incrementAll(limits),
        stores.closed.storage.incrementAll(limits).catch((error: unknown) => error),
        stores.local.storage.incrementAll(limits),
      ]);
      expect(performance.now() - startedAt).toBeLessThan(DEADLINE + SLACK);
      expect(open).toEqual(
        limits.map(() => ({ totalHits: 0, timeToExpire: 0, isBlocked: false, timeToBlockExpire: 0 })),
      );
      expect(closed).toBeInstanceOf(RateLimitUnavailableError);
      expect(closed).toMatchObject({ status: 503, retryAfter: 1, cause: expect.any(RedisUnavailableError) as unknown });
      // Its share, one hit at least; each limit by itself.
      const asked = new Map(stores.local.local.calls.slice(warmUps));
      expect(Object.fromEntries(asked)).toEqual({ 'default:a': 1, 'long:a': 4, 'other:b': 1 });
      expect(local.every(({ isBlocked }) => !isBlocked)).toBe(true);
      masters.forEach((master) => own.resume(master));
      await eventually(async () => expect((await stores.open.storage.incrementAll([hit('c')]))[0]!.totalHits).toBe(1));
    });
  },
);

it('a hit whose reply is lost is counted once at most', async () => {
  const own = await startOwn('standalone', { user: 'rateLimit' });
  const proxy = await startProxy(own.nodes[0]!);
  const connection = { mode: 'standalone' as const, host: proxy.host, port: proxy.port, ...own.users?.app };
  const namespace = uniqueNamespace();
  const through = await openStorage({ connection, namespace }, { onStoreError: 'open' }, { closeTimeout: 50 });
  const direct = await openStorage({ connection: own.connection, namespace });
  const record = async (each: TestStorage) => (await each.storage.incrementAll([hit('a', { limit: 99 })]))[0]!;
  try {
    expect(await record(through)).toMatchObject({ totalHits: 1 });
    await proxy.set('dropDown', { cut: true });
    const lost = record(through);
    await eventually(() => proxy.bytesLost > 0);
    // The network is well again, long before the deadline: whoever repeated would succeed.
    await proxy.set('pass');
    expect(await lost).toMatchObject({ totalHits: 0, isBlocked: false });
    // The first and this one, and the lost one unless it was lost on its way.
    const { totalHits } = await record(direct);
    expect([2, 3]).toContain(totalHits);
  } finally {
    await Promise.all([through.close(), direct.close(), proxy.close()]);
    await own.stop();
  }
});
