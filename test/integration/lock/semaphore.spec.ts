import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { LockLostError, LockTimeoutError, SemaphoreService, type PermitHandle } from 'nestjs-redis-patterns';
import { sleep } from '../../../libs/redis-patterns/src/core/index.js';
import { eventually } from '../../support/eventually.js';
import { loseReply } from '../../support/lose-reply.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openLocksBehindProxy, type CleanUps } from './behind-proxy.js';
import { openService, type OpenService } from './open-service.js';

/** Permits of the leases that have not ended, by the clock of the server. */
const LIVE = `
local time, sum = redis.call('TIME'), 0
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')) do
  sum = sum + tonumber(string.match(member, '^%d+'))
end
return sum`;

describeOnEachTopology('semaphores', { user: 'lock' }, (topology) => {
  let opened: OpenService<SemaphoreService>[];
  let semaphores: SemaphoreService;
  beforeAll(async () => {
    opened = await Promise.all([1, 2].map(() => openService(SemaphoreService, topology)));
    semaphores = opened[0]!.service;
  });
  afterEach(() => void jest.restoreAllMocks());
  afterAll(() => Promise.all(opened.map((each) => each.close())));
  const redisKey = (key: string): string => `${topology.namespace}:semaphore:${key}`;
  const waiting = (key: string, count: number) =>
    eventually(async () => expect((await semaphores.inspect(key)).waiting).toBe(count));
  const keysOf = (key: string) => topology.admin.keys(`*semaphore*${key}*`);

  it('never has more permits out than there are, whatever leases, weights and clocks its callers have', async () => {
    const LIMIT = 5;
    let most = 0;
    let auditing = true;
    const audit = (async () => {
      while (auditing) {
        const live = Number(await topology.admin.client.eval(LIVE, 1, redisKey('history')));
        most = Math.max(most, live);
      }
    })();
    const clock = Date.now;
    jest.spyOn(Date, 'now').mockImplementation(() => clock() - 3_600_000 * Math.random());
    const outcomes = await Promise.all(
      Array.from({ length: 80 }, async (_, n) => {
        const { service } = opened[n % 2]!;
        const permits = 1 + (n % 3);
        const lease = n % 4 === 0 ? 100 : 5000;
        const permit = await service.acquire('history', { limit: LIMIT, permits, lease, wait: '30s' });
        // Some never give theirs back: their leases end.
        if (lease === 100) return 'left';
        await sleep(n % 5);
        return (await permit.release()) ? 'released' : 'lost';
      }),
    );
    auditing = false;
    await audit;
    expect(outcomes.filter((outcome) => outcome === 'lost')).toEqual([]);
    // All of them were out at some time, else this proves little.
    expect(most).toBe(LIMIT);
    await eventually(async () =>
      expect(await semaphores.inspect('history')).toEqual({ used: 0, holders: 0, waiting: 0 }),
    );
    for (const { service } of opened) {
      await eventually(() => expect(service.stats()).toEqual({ held: 0, running: 0, cleaning: 0 }));
    }
  }, 60_000);

  it('serves those who wait first come, first served, and lets nobody pass one who wants many', async () => {
    const order: string[] = [];
    const take = async (name: string, permits: number): Promise<PermitHandle> => {
      const permit = await semaphores.acquire('queue', { limit: 3, permits, wait: '20s' });
      order.push(name);
      return permit;
    };
    const first = await take('first', 2);
    const many = take('many', 3);
    await waiting('queue', 1);
    const one = take('one', 1);
    const another = take('another', 1);
    await waiting('queue', 3);
    expect(await semaphores.tryAcquire('queue', { limit: 3 })).toBeNull();
    const began = performance.now();
    await first.release();
    await (await many).release();
    await Promise.all([one, another].map(async (each) => (await each).release()));
    // By messages: a heartbeat comes after a second and a half at the earliest.
    expect(performance.now() - began).toBeLessThan(1200);
    expect(order.slice(0, 2)).toEqual(['first', 'many']);
    await eventually(async () => expect(await keysOf('queue')).toEqual([]));
  });

  it('lets the next one in when the first gives up, or its keys are gone', async () => {
    const holder = await semaphores.acquire('gives-up', { limit: 2, permits: 1 });
    const gone = new AbortController();
    const many = semaphores.acquire('gives-up', { limit: 2, permits: 2, wait: '20s', signal: gone.signal });
    await waiting('gives-up', 1);
    const one = semaphores.acquire('gives-up', { limit: 2, wait: '20s' });
    await waiting('gives-up', 2);
    const began = performance.now();
    gone.abort(new Error('enough'));
    await expect(many).rejects.toThrow('enough');
    const second = await one;
    // At once, not when the one that gave up counts as dead.
    expect(performance.now() - began).toBeLessThan(1200);
    const last = semaphores.acquire('gives-up', { limit: 2, wait: '20s' });
    await waiting('gives-up', 1);
    const companions = (await keysOf('gives-up')).filter((key) => key.includes('~'));
    expect(companions).toHaveLength(2);
    await Promise.all(companions.map((key) => topology.admin.client.del(key)));
    await second.release();
    await (await last).release();
    await holder.release();
  }, 30_000);

  it('frees the permits of a holder that is gone at the end of its own lease', async () => {
    const long = await semaphores.acquire('crash', { limit: 2, lease: '20s' });
    const forgotten = await semaphores.acquire('crash', { limit: 2, lease: 400 });
    expect(await topology.admin.client.pttl(redisKey('crash'))).toBeGreaterThan(19_000);
    const began = performance.now();
    const next = await semaphores.acquire('crash', { limit: 2, wait: '10s' });
    // Not by the next heartbeat of the waiter, which is seconds away.
    expect(performance.now() - began).toBeLessThan(1500);
    expect(long.isHeld()).toBe(true);
    expect(forgotten.signal.reason).toBeInstanceOf(LockLostError);
    await expect(forgotten.extend()).rejects.toBeInstanceOf(LockLostError);
    expect(await forgotten.release()).toBe(false);
    expect(await semaphores.inspect('crash')).toMatchObject({ used: 2, holders: 2 });
    await Promise.all([long.release(), next.release()]);
  });

  it('renews while a function runs, and passes its result and its error unchanged', async () => {
    const options = { limit: 1, lease: 300 };
    const value = { some: 'value' };
    const result = semaphores.using('using', options, async (permit) => {
      const key = redisKey('using');
      const member = `1|${permit.token}`;
      const before = await topology.admin.client.zscore(key, member);
      await eventually(async () => expect(await topology.admin.client.zscore(key, member)).not.toBe(before));
      await expect(semaphores.acquire('using', options)).rejects.toBeInstanceOf(LockTimeoutError);
      return value;
    });
    expect(await result).toBe(value);
    const error = new Error('of the function');
    await expect(semaphores.using('using', options, () => Promise.reject(error))).rejects.toBe(error);
    expect(await keysOf('using')).toEqual([]);
  });

  it('says that permits are lost when the key is gone, and never makes it again', async () => {
    const permit = await semaphores.acquire('gone', { limit: 1 });
    await topology.admin.client.del(redisKey('gone'));
    await expect(permit.extend()).rejects.toMatchObject({ code: 'ERR_LOCK_LOST', reason: 'expired' });
    expect(await permit.release()).toBe(false);
    expect(await keysOf('gone')).toEqual([]);
  });

  it.each([
    [{ limit: 2, permits: 3 }, /permits: must be at most 'limit' \(2\)/],
    [{ limit: 0 }, /limit/],
    [{} as { limit: number }, /limit/],
  ])('refuses what cannot work: %j', async (options, message) => {
    await expect(semaphores.acquire('refused', options)).rejects.toThrow(message);
  });
});

describe('semaphores, read/write locks and a lost reply', () => {
  const cleanUps: CleanUps = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
  });

  it('find their own grants again, and take nothing twice', async () => {
    const { open, admin, proxy } = await openLocksBehindProxy(cleanUps);
    const semaphores = new SemaphoreService(open.engine.context, open.locks.options);
    cleanUps.push(() => semaphores.close());
    const { read, write } = open.locks.readWrite('lost');
    // The server knows the scripts from here on: what is lost is a grant, never the reply NOSCRIPT.
    await semaphores.using('warm-up', { limit: 1 }, () => undefined);
    await open.locks.readWrite('warm-up').read.using({}, () => undefined);
    await open.locks.readWrite('warm-up').write.using({}, () => undefined);
    const losing = <T>(key: string, ask: () => Promise<T>): Promise<T> =>
      loseReply(proxy, ask, async () => (await admin.client.exists(key)) === 1);
    const permit = await losing('shop:semaphore:lost', () =>
      semaphores.acquire('lost', { limit: 4, permits: 2, wait: '5s' }),
    );
    expect(await admin.client.zscore('shop:semaphore:lost', '')).toBe('2');
    expect(await permit.release()).toBe(true);
    const writer = await losing('shop:rwlock:lost', () => write.acquire({ wait: '5s' }));
    expect(await admin.client.zrange('shop:rwlock:lost', '0', '-1')).toEqual([`w${writer.token}`]);
    expect(await admin.client.get('shop:rwlock~fence:{shop:rwlock:lost}')).toBe(String(writer.fence));
    expect(await writer.release()).toBe(true);
    const reader = await losing('shop:rwlock:lost', () => read.acquire({ wait: '5s' }));
    expect(await admin.client.zcard('shop:rwlock:lost')).toBe(1);
    expect(await reader.release()).toBe(true);
    expect(await admin.keys('shop:*lost')).toEqual([]);
  }, 30_000);
});
