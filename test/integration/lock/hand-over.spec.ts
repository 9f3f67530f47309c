import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { LockHandle, LockService } from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openLocks, type OpenLocks } from './test-locks.js';

const LIVENESS = 4000;

describeOnEachTopology('a release that hands the lock over', { user: 'lock' }, (topology) => {
  let open: OpenLocks;
  let locks: LockService;
  beforeAll(async () => {
    open = await openLocks(topology, { liveness: LIVENESS });
    ({ locks } = open);
    // From the first time on that somebody waits it takes a moment until messages are heard.
    await eventually(async () => {
      const [lock, left] = await handOver('warm-up', 60_000);
      await lock.release();
      expect(left).toBeLessThanOrEqual(LIVENESS);
    });
  });
  afterAll(() => open.close());

  const companion = (role: string, key: string): string =>
    `${topology.namespace}:lock~${role}:{${topology.namespace}:lock:${key}}`;
  /** A waiter that does nothing: what holds for it does without its help. */
  async function silentWaiter(key: string, { aliveFor = 10_000, lease = 60_000 } = {}): Promise<string> {
    const { client } = topology.admin;
    const token = `silent|${key}`;
    await client.zadd(companion('queue', key), 1, `${token}|${lease}|l`);
    await client.zadd(companion('alive', key), Date.now() + aliveFor, `${token}|${lease}|l`);
    for (const role of ['queue', 'alive']) await client.pexpire(companion(role, key), 60_000);
    return token;
  }
  /** Two callers, of which the second has the lock from the first; and what was left of its lease in that moment. */
  async function handOver(key: string, lease: number): Promise<[LockHandle, number]> {
    const holder = await locks.acquire(key, { lease: '60s' });
    const waiting = locks
      .acquire(key, { wait: '60s', lease, autoExtend: false })
      .then((lock): [LockHandle, number] => [lock, lock.remaining()]);
    await eventually(async () => expect(await topology.admin.client.zcard(companion('queue', key))).toBe(1));
    await holder.release();
    return waiting;
  }

  it('gives it to the first waiter for as long as that is known to live, at most for its own lease', async () => {
    const { client } = topology.admin;
    for (const [key, waiter, most] of [
      ['known', { aliveFor: 10_000 }, 10_000],
      ['short-lease', { lease: 3000 }, 3000],
    ] as const) {
      const holder = await locks.acquire(key, { lease: '60s' });
      const token = await silentWaiter(key, waiter);
      expect(await holder.release()).toBe(true);
      expect(await client.get(holder.key)).toBe(token);
      const left = await client.pttl(holder.key);
      expect([key, left > most - 2000, left <= most]).toEqual([key, true, true]);
      expect(await locks.inspect(key)).toMatchObject({ waiting: 0 });
      expect((await locks.inspect(key))!.fence! > holder.fence).toBe(true);
      expect(await locks.forceRelease(key)).toBe(true);
    }
  });

  it('leaves it free for one that would hear of it too late, and for all when it was not fair', async () => {
    const { client } = topology.admin;
    const late = await locks.acquire('late');
    await silentWaiter('late', { aliveFor: 90 });
    await late.release();
    const unfair = await locks.acquire('unfair', { fair: false });
    await silentWaiter('unfair');
    await unfair.release();
    expect(await Promise.all([client.get(late.key), client.get(unfair.key)])).toEqual([null, null]);
  });

  it('gives its waiter a whole lease, though only its liveness was handed over', async () => {
    const [lock, left] = await handOver('whole', 60_000);
    expect(left).toBeLessThanOrEqual(LIVENESS);
    await eventually(() => expect(lock.remaining()).toBeGreaterThan(50_000));
    expect(await topology.admin.client.pttl(lock.key)).toBeGreaterThan(lock.remaining());
    expect((await locks.inspect('whole'))!.fence).toBe(lock.fence);
    expect(await lock.release()).toBe(true);
  });

  it('keeps a lease that is shorter than the liveness', async () => {
    const [lock, left] = await handOver('short', 1000);
    expect(left).toBeLessThanOrEqual(1000);
    expect(await topology.admin.client.pttl(lock.key)).toBeLessThanOrEqual(1000);
    await lock.release();
  });

  it('is not mistaken for one that happened before', async () => {
    const { client } = topology.admin;
    const holder = await locks.acquire('missed', { lease: '60s' });
    let settled = false;
    const waiting = locks.acquire('missed', { wait: '60s' }).finally(() => (settled = true));
    await eventually(async () => expect(await client.zcard(companion('queue', 'missed'))).toBe(1));
    const [waiter, lastHeard] = (await client.zrange(companion('alive', 'missed'), '0', '-1', 'WITHSCORES')) as [
      string,
      string,
    ];
    await eventually(async () => {
      const channel = `${topology.namespace}:lock~wake:${waiter.slice(0, waiter.indexOf('|'))}`;
      await client.publish(channel, `${waiter} ${holder.fence}`);
      // It took the message for a reason to ask.
      expect(Number(await client.zscore(companion('alive', 'missed'), waiter))).toBeGreaterThan(Number(lastHeard));
    });
    expect(settled).toBe(false);
    expect(await locks.inspect('missed')).toMatchObject({ fence: holder.fence, waiting: 1 });
    await holder.release();
    await (await waiting).release();
  });

  it('lets nobody in twice when the waiter gives up in that moment', async () => {
    for (let n = 0; n < 20; n++) {
      const controller = new AbortController();
      const holder = await locks.acquire('gave-up', { lease: '60s' });
      const first = locks.acquire('gave-up', { wait: '60s', signal: controller.signal }).catch(() => undefined);
      await eventually(async () => expect((await locks.inspect('gave-up'))!.waiting).toBe(1));
      const second = locks.acquire('gave-up', { wait: '60s' });
      await eventually(async () => expect((await locks.inspect('gave-up'))!.waiting).toBe(2));
      const released = holder.release();
      if (n % 2 === 1) await released;
      controller.abort();
      await (await first)?.release();
      const next = await second;
      expect(await next.release()).toBe(true);
      await released;
    }
    await eventually(() => expect(locks.stats()).toEqual({ held: 0, running: 0, cleaning: 0 }));
    expect(await locks.inspect('gave-up')).toBeNull();
  });

  it('asks the replicas before it is used, where they have to confirm it', async () => {
    if (topology.mode === 'standalone') return;
    const careful = await openLocks(topology, { replicaAck: 1 });
    const holder = await careful.locks.acquire('confirmed', { lease: '60s' });
    const waiting = careful.locks.acquire('confirmed', { wait: '60s', lease: '60s' });
    await eventually(async () => expect((await locks.inspect('confirmed'))!.waiting).toBe(1));
    await holder.release();
    const lock = await waiting;
    expect(lock.remaining()).toBeGreaterThan(50_000);
    await lock.release();
    await careful.close();
  });
});
