import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { LockHandle } from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openLocks, type OpenLocks } from './test-locks.js';

const LIVENESS = 1000;
/** What a loaded machine may add to any time below. */
const SLACK = 700;

const caught = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

describeOnEachTopology('waiting for a lock', { user: 'lock' }, (topology) => {
  const opened: OpenLocks[] = [];
  const start = async (options: object = {}): Promise<OpenLocks['locks']> => {
    const open = await openLocks(topology, { liveness: '20s', ...options });
    opened.push(open);
    return open.locks;
  };
  let locks: OpenLocks['locks'];
  beforeAll(async () => {
    locks = await start();
    // From here on wake-ups come.
    const first = await locks.acquire('warm-up');
    const second = locks.acquire('warm-up', { wait: '10s' });
    await queued('warm-up', 1);
    await first.release();
    await (await second).release();
  });
  afterEach(() => Promise.all(opened.splice(1).map((open) => open.close())));
  afterAll(() => opened[0]!.close());

  const lockKey = (key: string): string => `${topology.namespace}:lock:${key}`;
  const companion = (role: string, key: string): string => `${topology.namespace}:lock~${role}:{${lockKey(key)}}`;
  const queued = (key: string, count: number): Promise<unknown> =>
    eventually(async () => expect(await topology.admin.client.zcard(companion('queue', key))).toBe(count));
  /** What a process leaves in the queue that was killed right after a heartbeat. */
  const deadWaiters = async (key: string, count: number, aliveFor: (n: number) => number): Promise<void> => {
    const { client } = topology.admin;
    const now = Date.now();
    for (let n = 0; n < count; n++) {
      await client.zadd(companion('queue', key), n - count, `dead-process|${n}|60000|l`);
      await client.zadd(companion('alive', key), now + aliveFor(n), `dead-process|${n}|60000|l`);
    }
    await client.pexpire(companion('queue', key), 60_000);
    await client.pexpire(companion('alive', key), 60_000);
  };

  it('is first come, first served, over several processes, and hands over by a message', async () => {
    const services = [locks, await start(), await start()];
    const holder = await locks.acquire('fifo', { lease: '60s' });
    const order: number[] = [];
    const fences: bigint[] = [];
    const waiting: Promise<void>[] = [];
    for (let n = 0; n < 9; n++) {
      const work = (lock: LockHandle): void => {
        order.push(n);
        fences.push(lock.fence);
      };
      waiting.push(services[n % 3]!.using('fifo', { wait: '60s' }, work));
      await queued('fifo', n + 1);
    }
    expect((await locks.inspect('fifo'))!.waiting).toBe(9);
    const began = performance.now();
    await holder.release();
    await Promise.all(waiting);
    // A heartbeat would come after 8 s.
    expect(performance.now() - began).toBeLessThan(2000 + SLACK);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(fences).toEqual(fences.toSorted((a, b) => (a < b ? -1 : 1)));
  });

  it('is not overtaken by a caller that does not wait, unless that is allowed', async () => {
    await deadWaiters('order', 1, () => 30_000);
    const refused = await caught(locks.acquire('order'));
    expect(refused).toMatchObject({ code: 'ERR_LOCK_TIMEOUT' });
    expect((refused as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(20_000);
    const unfair = await locks.acquire('order', { fair: false });
    expect(await unfair.release()).toBe(true);
  });

  it('is delayed by a dead waiter for its liveness, and by many of them not much longer', async () => {
    const patient = await start({ liveness: LIVENESS });
    for (const [key, count, limit] of [
      ['dead', 1, LIVENESS],
      ['cemetery', 300, 1.6 * LIVENESS],
    ] as const) {
      await deadWaiters(key, count, (n) => (LIVENESS * (n + 1)) / count);
      const began = performance.now();
      const lock = await patient.acquire(key, { wait: '30s' });
      expect(performance.now() - began).toBeLessThan(limit + SLACK);
      await lock.release();
      expect(await topology.admin.client.exists(companion('queue', key))).toBe(0);
    }
  });

  it('keeps a waiter in its place that says that it is alive', async () => {
    const patient = await start({ liveness: 500 });
    const holder = await locks.acquire('alive', { lease: '60s' });
    const order: string[] = [];
    const first = patient.using('alive', { wait: '60s' }, () => void order.push('first'));
    await queued('alive', 1);
    const second = locks.using('alive', { wait: '60s' }, () => void order.push('second'));
    await queued('alive', 2);
    const later = performance.now() + 1500;
    await eventually(() => performance.now() > later);
    await holder.release();
    await Promise.all([first, second]);
    expect(order).toEqual(['first', 'second']);
  });

  it('leaves no trace of who gave up, was cancelled, or was shut down', async () => {
    const holder = await locks.acquire('trace', { lease: '60s' });
    const other = await start();
    const controller = new AbortController();
    const giveUp = caught(locks.acquire('trace', { wait: 200 }));
    const cancelled = caught(locks.acquire('trace', { wait: '60s', signal: controller.signal }));
    const shutDown = caught(other.acquire('trace', { wait: '60s' }));
    const reason = new Error('enough');
    await eventually(async () => expect((await locks.inspect('trace'))!.waiting).toBeGreaterThan(1));
    controller.abort(reason);
    expect(await cancelled).toBe(reason);
    expect(await giveUp).toMatchObject({ code: 'ERR_LOCK_TIMEOUT' });
    await other.close();
    expect(await shutDown).toMatchObject({ code: 'ERR_LOCK_UNAVAILABLE' });
    await eventually(async () => {
      const keys = ['queue', 'alive'].map((role) => companion(role, 'trace'));
      expect(await topology.admin.client.exists(...keys)).toBe(0);
    });
    await holder.release();
  });

  it('ends with the lock also when a message or a companion of the lock is lost, and when the lock just ends', async () => {
    const patient = await start({ liveness: LIVENESS });
    const { client } = topology.admin;
    const losses: [string, (key: string) => Promise<unknown>][] = [
      ['gone', (key) => client.del(lockKey(key))],
      ['no-queue', (key) => client.del(companion('queue', key), lockKey(key))],
      ['no-heartbeats', (key) => client.del(companion('alive', key), lockKey(key))],
      ['expired', (key) => client.pexpire(lockKey(key), 10)],
    ];
    await Promise.all(
      losses.map(async ([key, lose]) => {
        await patient.acquire(key, { lease: '60s' });
        const waiting = Promise.all([1, 2].map(() => patient.using(key, { wait: '30s' }, () => undefined)));
        await queued(key, 2);
        const began = performance.now();
        await lose(key);
        await waiting;
        // One comes by its heartbeat, and wakes the other.
        expect(performance.now() - began).toBeLessThan(2 * LIVENESS + SLACK);
      }),
    );
  });

  it('gives every key of a lock an end', async () => {
    const holder = await locks.acquire('ends', { lease: '60s' });
    const waiting = caught(locks.acquire('ends', { wait: 500 }));
    await queued('ends', 1);
    for (const key of await topology.admin.keys(`${topology.namespace}:lock*ends*`)) {
      expect([key, (await topology.admin.client.pttl(key)) > 0]).toEqual([key, true]);
    }
    await waiting;
    await holder.release();
  });
});
