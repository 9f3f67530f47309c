import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { LockLostError, LockReentryError, LockUnavailableError, type LockHandle } from 'nestjs-redis-patterns';
import { startProgram } from '../../support/child-process.js';
import { eventually } from '../../support/eventually.js';
import { loseReply } from '../../support/lose-reply.js';
import { describeOn } from '../../support/topologies.js';
import { openLocksBehindProxy, type CleanUps } from './behind-proxy.js';
import { openLocks, type OpenLocks } from './test-locks.js';

const cleanUps: CleanUps = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

/** A promise and what settles it. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

const caught = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

describeOn('standalone', 'locks and the code that holds them', { user: 'lock' }, (topology) => {
  let open: OpenLocks;
  beforeAll(async () => {
    open = await openLocks(topology);
  });
  afterAll(() => open.close());

  it('do not belong to work that outlives the function it was started in', async () => {
    const { locks } = open;
    const end = gate();
    let late: Promise<{ current: LockHandle | undefined; again: LockHandle }> | undefined;
    await locks.using('outlived', {}, () => {
      late = end.opened.then(async () => ({ current: locks.current(), again: await locks.acquire('outlived') }));
    });
    end.open();
    const { current, again } = await late!;
    expect(current).toBeUndefined();
    expect(again.isHeld()).toBe(true);
    await again.release();
  });

  it('refuse re-entrance in parallel branches of the holder, and only of the same key', async () => {
    const { locks } = open;
    await locks.using('branches', {}, async () => {
      const results = await Promise.all([
        caught(locks.using('branches', {}, () => 1)),
        caught(locks.acquire('branches')),
        locks.using('branches-2', {}, () => 2),
      ]);
      expect(results).toEqual([expect.any(LockReentryError), expect.any(LockReentryError), 2]);
    });
  });

  it('stay held until the last of the handles that share them is released', async () => {
    const { locks } = open;
    let child: LockHandle | undefined;
    let outer: LockHandle | undefined;
    await locks.using('shared', {}, async (lock) => {
      outer = lock;
      child = await locks.acquire('shared', { reentrant: true });
    });
    expect([outer!.isHeld(), child!.isHeld()]).toEqual([false, true]);
    expect(() => outer!.assertHeld()).toThrow(LockLostError);
    expect(await topology.admin.client.get(child!.key)).toBe(child!.token);
    expect(await child!.release()).toBe(true);
    expect(await topology.admin.client.exists(child!.key)).toBe(0);
  });

  it('are not shared any more once they are lost', async () => {
    const { locks } = open;
    const outcome = await caught(
      locks.using('lost-outer', { lease: 100, autoExtend: false }, async (lock) => {
        await new Promise((resolve) => lock.signal.addEventListener('abort', resolve));
        return caught(locks.using('lost-outer', { reentrant: true, onLost: 'ignore' }, () => 'ran'));
      }),
    );
    expect(outcome).toMatchObject({ code: 'ERR_LOCK_LOST', reason: 'expired' });
  });

  it('give the result of a function that lost its lock where that is wanted, and its error in any case', async () => {
    const { locks } = open;
    const failure = new Error('business');
    const lose = (lock: LockHandle): Promise<unknown> => topology.admin.client.del(lock.key);
    expect(await caught(locks.using('loser', {}, lose))).toMatchObject({ code: 'ERR_LOCK_LOST', reason: 'expired' });
    expect(await locks.using('loser', { onLost: 'ignore' }, lose)).toBe(1);
    const thrown = caught(
      locks.using('loser', {}, async (lock) => {
        await lose(lock);
        throw failure;
      }),
    );
    expect(await thrown).toBe(failure);
  });

  it('are extended to a longer time, and never shortened', async () => {
    const lock = await open.locks.acquire('extend', { lease: '10s' });
    await lock.extend('60s');
    expect(lock.remaining()).toBeGreaterThan(50_000);
    await lock.extend('1s');
    expect(lock.remaining()).toBeGreaterThan(50_000);
    expect(await topology.admin.client.pttl(lock.key)).toBeGreaterThan(50_000);
    await lock.release();
    await expect(lock.extend()).rejects.toBeInstanceOf(LockLostError);
    expect(await lock.release()).toBe(true);
    expect(JSON.stringify(lock)).not.toContain(lock.token);
  });

  it('are looked at again when the machine was suspended, long before they would be renewed', async () => {
    const realNow = Date.now;
    cleanUps.push(() => void (Date.now = realNow));
    const kept = await open.locks.acquire('suspended-kept', { lease: '60s', autoExtend: true });
    const gone = await open.locks.acquire('suspended-gone', { lease: '60s' });
    const once = await open.locks.acquire('suspended-once', { lease: '60s', autoExtend: false });
    const later = await open.locks.acquire('suspended-later', { lease: '10m' });
    const { client } = topology.admin;
    for (const { key } of [kept, once, later]) await client.pexpire(key, 30_000);
    await client.del(gone.key);
    // The watch compares with its last look, and begins with the first of these leases.
    Date.now = () => realNow() + 90_000;
    await eventually(() => gone.signal.aborted);
    expect(gone.signal.reason).toMatchObject({ code: 'ERR_LOCK_LOST', reason: 'expired' });
    await eventually(async () => expect(await client.pttl(kept.key)).toBeGreaterThan(50_000));
    await eventually(async () => expect(await client.pttl(once.key)).toBeGreaterThan(50_000));
    expect(once.remaining()).toBeLessThan(60_000);
    expect(kept.remaining()).toBeGreaterThan(once.remaining());
    // It could not have ended meanwhile.
    expect(await client.pttl(later.key)).toBeLessThanOrEqual(30_000);
    for (const lock of [kept, once, later]) expect(await lock.release()).toBe(true);
  });

  it('fence above a fence from the future, so that a server clock that steps back does no harm', async () => {
    const future = 8_000_000_000_000_000n;
    const probe = await open.locks.acquire('future');
    await probe.release();
    await topology.admin.client.set(`${topology.namespace}:lock~fence:{${probe.key}}`, future.toString(), 'PX', 60_000);
    for (const step of [1n, 2n]) {
      const lock = await open.locks.acquire('future');
      expect(lock.fence).toBe(future + step);
      await lock.release();
    }
  });

  it('are waited for by hundreds of callers without a warning from Node.js', async () => {
    const { connection, namespace } = topology;
    const data = { connection, namespace };
    const program = startProgram(new URL('./programs/crowd.ts', import.meta.url), { data });
    cleanUps.push(() => program.kill());
    expect(await program.next('done')).toMatchObject({ refused: 400, stats: { held: 1, running: 0, cleaning: 0 } });
    expect(program.output).toBe('');
  });
});

describeOn('standalone', 'the shutdown of locks', { user: 'lock' }, (topology) => {
  const start = async (options: object = {}): Promise<OpenLocks> => {
    const open = await openLocks(topology, options);
    cleanUps.push(() => open.close());
    return open;
  };

  it('ends the waiting, refuses what is new, and lets a running function end under its lock', async () => {
    const { locks } = await start();
    const end = gate();
    const running = locks.using('busy', { lease: 300 }, async (lock) => {
      await end.opened;
      lock.assertHeld();
      return 'done';
    });
    await eventually(() => expect(locks.stats().running).toBe(1));
    const waiting = caught(locks.acquire('busy', { wait: '60s' }));
    const closing = locks.close();
    expect(await waiting).toBeInstanceOf(LockUnavailableError);
    expect(await caught(locks.acquire('new'))).toBeInstanceOf(LockUnavailableError);
    const later = performance.now() + 500;
    await eventually(() => performance.now() > later);
    end.open();
    expect(await running).toBe('done');
    await closing;
    expect(await topology.admin.keys(`${topology.namespace}:lock:busy`)).toEqual([]);
  });

  it('tells a function that takes too long, and gives back every lock', async () => {
    const { locks } = await start({ shutdownTimeout: 50 });
    const forgotten = await locks.acquire('forgotten');
    const running = caught(
      locks.using('slow', {}, (lock) => new Promise((resolve) => lock.signal.addEventListener('abort', resolve))),
    );
    await eventually(() => expect(locks.stats().running).toBe(1));
    await locks.close();
    expect(await running).toMatchObject({ code: 'ERR_LOCK_LOST', reason: 'max-hold' });
    expect(forgotten.isHeld()).toBe(false);
    expect(await topology.admin.keys(`${topology.namespace}:lock:*`)).toEqual([]);
  });
});

describe('locks behind a bad network', () => {
  it('are given back when they are granted while the application shuts down', async () => {
    const { open, admin, proxy } = await openLocksBehindProxy(cleanUps);
    await proxy.set('latency', { ms: 60 });
    const ran: number[] = [];
    const asking = Array.from({ length: 5 }, (_, i) => caught(open.locks.using(['racing', i], {}, () => ran.push(i))));
    const acquiring = caught(open.locks.acquire('racing'));
    // The connection closes right after the locks have.
    await open.close();
    for (const outcome of await Promise.all([...asking, acquiring])) {
      expect(outcome).toBeInstanceOf(LockUnavailableError);
    }
    expect(ran).toEqual([]);
    expect(await admin.keys('shop:lock~fence:*racing*')).toHaveLength(6);
    expect(await admin.keys('shop:lock:*')).toEqual([]);
  });

  it('end the waiting at a shutdown also while Redis does not answer', async () => {
    const { open, proxy } = await openLocksBehindProxy(cleanUps);
    await proxy.set('refuse');
    const waiting = caught(open.locks.acquire('patient', { wait: '60s' }));
    const began = performance.now();
    await open.locks.close();
    expect(await waiting).toBeInstanceOf(LockUnavailableError);
    // One decision at most.
    expect(performance.now() - began).toBeLessThan(3000);
  });

  it('count a release whose reply was lost as a release', async () => {
    const { open, admin, proxy } = await openLocksBehindProxy(cleanUps);
    const lock = await open.locks.acquire('released');
    const gone = async (): Promise<boolean> => (await admin.client.exists('shop:lock:released')) === 0;
    expect(await loseReply(proxy, () => lock.release(), gone)).toBe(true);
  });

  it('keep a lock through an outage that is shorter than its lease', async () => {
    const { open, proxy } = await openLocksBehindProxy(cleanUps);
    await open.locks.using('survivor', { lease: 3000 }, async (lock) => {
      const before = lock.deadline;
      await proxy.set('refuse');
      const end = performance.now() + 1500;
      await eventually(() => performance.now() > end);
      await proxy.set('pass');
      await eventually(() => expect(lock.deadline).toBeGreaterThan(before), { timeout: 3000 });
      lock.assertHeld();
    });
  });

  it('clean up after an acquire that is applied only when the network is back', async () => {
    const { open, admin, proxy } = await openLocksBehindProxy(cleanUps);
    await proxy.set('blackhole');
    const failure = await caught(open.locks.acquire('late', { lease: '60s' }));
    expect(failure).toBeInstanceOf(LockUnavailableError);
    await proxy.set('pass');
    await eventually(() => expect(open.locks.stats().cleaning).toBe(0), { timeout: 10_000 });
    expect(await admin.client.exists('shop:lock:late')).toBe(0);
    // The request did arrive, or this would show nothing.
    expect(await admin.client.exists('shop:lock~fence:{shop:lock:late}')).toBe(1);
  });

  it('do not replace the result of a function by the failure of its release', async () => {
    const { open, proxy } = await openLocksBehindProxy(cleanUps);
    const result = await open.locks.using('unreleased', {}, async () => {
      await proxy.set('refuse');
      return 'result';
    });
    expect(result).toBe('result');
    await proxy.set('pass');
  });
});
