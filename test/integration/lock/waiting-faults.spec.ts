import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { LockHandle, LockService } from 'nestjs-redis-patterns';
import { startProgram } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import type { RedisAdmin } from '../../support/redis-admin.js';
import { connectAdmin, startOwn, type Topology } from '../../support/topologies.js';
import type { CleanUps } from './behind-proxy.js';
import { openLocks } from './test-locks.js';

const cleanUps: CleanUps = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

describe('waiting for a lock of a server of its own', () => {
  async function start(options: object): Promise<{ own: Topology; admin: RedisAdmin; locks: LockService }> {
    const own = await startOwn('standalone', { user: 'lock' });
    cleanUps.push(() => own.stop());
    const admin = await connectAdmin(own);
    cleanUps.push(() => admin.close());
    const open = await openLocks({ connection: own.connection, namespace: 'shop' }, options);
    cleanUps.push(() => open.close());
    return { own, admin, locks: open.locks };
  }

  async function waitBehind(
    locks: LockService,
    admin: RedisAdmin,
    key = 'key',
  ): Promise<[LockHandle, Promise<LockHandle>]> {
    const holder = await locks.acquire(key, { lease: '60s' });
    const waiting = locks.acquire(key, { wait: '60s' });
    await eventually(async () => expect(await admin.client.zcard(`shop:lock~queue:{shop:lock:${key}}`)).toBe(1));
    return [holder, waiting];
  }

  it('goes on when the socket that wake-ups come on is lost', async () => {
    const { admin, locks } = await start({ liveness: '20s' });
    // From the end of the first wait on messages come, and a waiter sleeps until its heartbeat.
    const [first, second] = await waitBehind(locks, admin, 'first');
    await eventually(async () => expect(await admin.client.pubsub('CHANNELS')).toHaveLength(1));
    await first.release();
    await (await second).release();
    const [holder, waiting] = await waitBehind(locks, admin);
    expect(await admin.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')).toBe(1);
    const began = performance.now();
    await holder.release();
    const next = await waiting;
    // The next heartbeat is 8 s away.
    expect(performance.now() - began).toBeLessThan(4000);
    await next.release();
  });

  it('does not let a process in that was frozen when the lock was handed over to it, and slept too long', async () => {
    const { own, admin, locks } = await start({});
    const data = { connection: own.connection, namespace: 'shop', liveness: 1000 };
    const sleeper = startProgram(new URL('./programs/waiter.ts', import.meta.url), { data });
    cleanUps.push(() => sleeper.kill());
    await sleeper.next('ready');
    const holdBefore = async (): Promise<LockHandle> => {
      const holder = await locks.acquire('key', { lease: '60s' });
      sleeper.send({ type: 'wait' });
      await eventually(async () => expect((await locks.inspect('key'))!.waiting).toBe(1));
      // It waits for messages, and does not poll.
      await eventually(async () => expect(await admin.client.pubsub('CHANNELS')).toHaveLength(1));
      return holder;
    };
    await (await holdBefore()).release();
    await sleeper.next('got');
    await eventually(async () => expect(await locks.inspect('key')).toBeNull());
    const holder = await holdBefore();
    await sleeper.kill('SIGSTOP');
    await holder.release();
    expect(await locks.tryAcquire('key')).toBeNull();
    const other = await locks.acquire('key', { lease: '60s', wait: '30s' });
    await sleeper.kill('SIGCONT');
    // It is in the queue again, and has not entered.
    await eventually(async () => expect((await locks.inspect('key'))!.waiting).toBe(1));
    expect(sleeper.received('got')).toHaveLength(1);
    expect(await other.release()).toBe(true);
    expect(BigInt((await sleeper.next('got', { count: 2 })).fence as string) > other.fence).toBe(true);
  });

  it('is handed the lock also when memory is full', async () => {
    const { admin, locks } = await start({});
    const [first, second] = await waitBehind(locks, admin);
    await eventually(async () => expect(await admin.client.pubsub('CHANNELS')).toHaveLength(1));
    await first.release();
    await (await second).release();
    const [holder, waiting] = await waitBehind(locks, admin);
    await admin.client.config('SET', 'maxmemory', '1');
    await expect(locks.acquire('other')).rejects.toMatchObject({
      code: 'ERR_LOCK_UNAVAILABLE',
      cause: { message: expect.stringContaining('OOM') },
    });
    expect(await holder.release()).toBe(true);
    const next = await waiting;
    // It can also be extended, which a hand-over needs.
    await eventually(() => expect(next.remaining()).toBeGreaterThan(20_000));
    expect(await next.release()).toBe(true);
  });

  it('polls for a user that may not listen', async () => {
    const { own, admin, locks } = await start({ liveness: '20s' });
    await admin.client.call('ACL', 'SETUSER', own.users!.app.username, 'resetchannels');
    const [holder, waiting] = await waitBehind(locks, admin);
    await eventually(async () => expect(await admin.client.call('ACL', 'LOG')).toHaveLength(1));
    expect(await admin.client.pubsub('CHANNELS')).toEqual([]);
    const began = performance.now();
    expect(await holder.release()).toBe(true);
    const next = await waiting;
    expect(performance.now() - began).toBeLessThan(4000);
    await next.release();
  });

  it('costs at most one command a second for each waiter', async () => {
    const { admin, locks } = await start({});
    await locks.acquire('key', { lease: '60s' });
    const waiting = Array.from({ length: 50 }, () => locks.tryAcquire('key', { wait: '7s' }));
    await eventually(async () => expect(await admin.client.zcard('shop:lock~queue:{shop:lock:key}')).toBe(50));
    await eventually(async () => expect(await admin.client.pubsub('CHANNELS')).toHaveLength(1));
    await admin.client.config('RESETSTAT');
    const seconds = 5;
    const end = performance.now() + seconds * 1000;
    await eventually(() => performance.now() > end, { timeout: 10_000 });
    const { evalsha = 0, eval: evaluated = 0 } = await admin.commandCounts();
    expect(evalsha + evaluated).toBeGreaterThan(50);
    expect(evalsha + evaluated).toBeLessThan(50 * seconds);
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => null));
  });

  it('and taking ten thousand keys, leaves the heap as it was', async () => {
    const { locks } = await start({});
    let serial = 0;
    const use = async (count: number): Promise<void> => {
      for (const end = serial + count; serial < end;) {
        // One in ten has to be waited for.
        const batch = Array.from({ length: 50 }, (_, i) => (i < 5 ? serial : serial++));
        await Promise.all(batch.map((n) => locks.using(['key', n], { wait: 60_000 + n }, () => undefined)));
      }
    };
    await use(3000);
    const before = heap();
    await use(10_000);
    expect(locks.stats()).toEqual({ held: 0, running: 0, cleaning: 0 });
    // 100 bytes for each key would be a leak.
    expect(heap() - before).toBeLessThan(1_000_000);
  });
});

function heap(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
