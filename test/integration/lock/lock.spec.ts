import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { LockLostError, LockReentryError, LockTimeoutError, type LockHandle } from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { describeOn, describeOnEachTopology } from '../../support/topologies.js';
import { openLocks, type OpenLocks } from './test-locks.js';

describeOnEachTopology('locks', { user: 'lock' }, (topology) => {
  let open: OpenLocks;
  beforeAll(async () => {
    open = await openLocks(topology);
  });
  afterAll(() => open.close());
  const redisKey = (key: string): string => `${topology.namespace}:lock:${key}`;

  it('gives a lock to one at a time, and says how long the other may have to wait', async () => {
    const { locks } = open;
    const first = await locks.acquire('one', { lease: '10s' });
    expect(await locks.tryAcquire('one')).toBeNull();
    const refused = await locks.acquire('one').catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(LockTimeoutError);
    expect((refused as LockTimeoutError).retryAfterMs).toBeGreaterThan(9000);
    expect(await first.release()).toBe(true);
    const second = await locks.acquire('one');
    expect(second.fence > first.fence).toBe(true);
    expect(await second.release()).toBe(true);
  });

  it('keeps the lock and its fence in the layout of the keys, each with an end, in one slot', async () => {
    const lock = await open.locks.acquire(['order', 7], { lease: '20s' });
    const key = redisKey('order:7');
    const fenceKey = `${topology.namespace}:lock~fence:{${key}}`;
    expect(lock.key).toBe(key);
    expect(await topology.admin.client.get(key)).toBe(lock.token);
    expect(await topology.admin.client.get(fenceKey)).toBe(lock.fence.toString());
    expect(await topology.admin.client.pttl(key)).toBeGreaterThan(19_000);
    expect(await topology.admin.client.pttl(fenceKey)).toBeGreaterThan(599_000);
    await lock.release();
    expect(await topology.admin.client.exists(key)).toBe(0);
  });

  it('works for a key with a tag of its own', async () => {
    const lock = await open.locks.acquire('{eu}:jobs');
    expect(await topology.admin.client.get(redisKey('{eu}:jobs'))).toBe(lock.token);
    expect(await lock.release()).toBe(true);
  });

  it('releases and extends only what it still holds', async () => {
    const lock = await open.locks.acquire('stolen');
    await topology.admin.client.set(redisKey('stolen'), 'somebody', 'PX', 5000);
    await expect(lock.extend()).rejects.toMatchObject({ code: 'ERR_LOCK_LOST', reason: 'stolen' });
    expect(await lock.release()).toBe(false);
    expect(await topology.admin.client.get(redisKey('stolen'))).toBe('somebody');
    expect(lock.signal.aborted).toBe(true);

    const given = await open.locks.acquire('given back');
    await given.release();
    await expect(given.extend()).rejects.toMatchObject({ code: 'ERR_LOCK_LOST', reason: 'released' });
  });

  it('waits for a busy lock, and stops waiting when the caller gives up', async () => {
    const holder = await open.locks.acquire('wait');
    const waiting = open.locks.acquire('wait', { wait: '10s' });
    const controller = new AbortController();
    const cancelled = open.locks
      .acquire('wait', { wait: '10s', signal: controller.signal })
      .catch((error: unknown) => error);
    controller.abort(new Error('enough'));
    expect(await cancelled).toMatchObject({ message: 'enough' });
    await holder.release();
    const next = await waiting;
    expect(next.isHeld()).toBe(true);
    await next.release();
    await eventually(() => expect(open.locks.stats()).toEqual({ held: 0, running: 0, cleaning: 0 }));
  });

  it('renews a lock for as long as the function runs, beyond its lease', async () => {
    await open.locks.using('long', { lease: 150 }, async (lock) => {
      const end = lock.deadline + 300;
      await eventually(() => performance.now() > end);
      lock.assertHeld();
      expect(await topology.admin.client.get(redisKey('long'))).toBe(lock.token);
    });
    expect(await open.locks.inspect('long')).toBeNull();
  });

  it('lets a lock die that nobody renews, and tells the holder in time', async () => {
    const lock = await open.locks.acquire('forgotten', { lease: 100 });
    await new Promise((resolve) => lock.signal.addEventListener('abort', resolve));
    expect(lock.signal.reason).toBeInstanceOf(LockLostError);
    expect(lock.isHeld()).toBe(false);
    expect(() => lock.assertHeld()).toThrow(LockLostError);
    await eventually(async () => expect(await open.locks.inspect('forgotten')).toBeNull());
  });

  it('holds a lock no longer than maxHold', async () => {
    const failure = await open.locks
      .using(
        'hog',
        { lease: 500, maxHold: 1000 },
        (lock) => new Promise((resolve) => lock.signal.addEventListener('abort', resolve)),
      )
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'ERR_LOCK_LOST', reason: 'max-hold' });
  });

  it('passes the result and the error of the function on as they are', async () => {
    const result = { a: 1 };
    const failure = new Error('business');
    expect(await open.locks.using('pass', {}, () => result)).toBe(result);
    const thrown = await open.locks
      .using('pass', {}, () => {
        throw failure;
      })
      .catch((error: unknown) => error);
    expect(thrown).toBe(failure);
    expect(await open.locks.inspect('pass')).toBeNull();
  });

  it('refuses to wait for itself, or shares the lock where that is wanted', async () => {
    await open.locks.using('mine', {}, async (outer) => {
      expect(open.locks.current()).toBe(outer);
      await expect(open.locks.using('mine', {}, () => 1)).rejects.toBeInstanceOf(LockReentryError);
      await open.locks.using('mine', { reentrant: true }, (inner) => expect(inner.token).toBe(outer.token));
      outer.assertHeld();
      await open.locks.using('other', {}, () => expect(open.locks.current()?.key).toBe(redisKey('other')));
    });
    expect(open.locks.current()).toBeUndefined();
  });

  it('releases at the end of an `await using` block, and tells who holds a lock', async () => {
    let seen: LockHandle | undefined;
    {
      await using lock = await open.locks.acquire('block');
      seen = lock;
      expect(await open.locks.inspect('block')).toMatchObject({
        fence: lock.fence,
        owner: expect.stringContaining(`-${process.pid}-`),
      });
    }
    expect(seen.isHeld()).toBe(false);
    expect(await open.locks.inspect('block')).toBeNull();
  });

  it('never has two holders under a crowd of one process, and its fences grow in the order of the grants', async () => {
    let inside = 0;
    const fences: bigint[] = [];
    const work = async (lock: LockHandle): Promise<void> => {
      inside++;
      expect(inside).toBe(1);
      await topology.admin.client.ping();
      fences.push(lock.fence);
      inside--;
    };
    await Promise.all(Array.from({ length: 20 }, () => open.locks.using('crowd', { wait: '20s' }, work)));
    expect(fences).toHaveLength(20);
    for (let i = 1; i < fences.length; i++) expect(fences[i]! > fences[i - 1]!).toBe(true);
  });

  it('keeps a fence growing after the loss of all keys of the lock', async () => {
    const before = await open.locks.acquire('lossy');
    await before.release();
    await topology.admin.deleteKeys(`${topology.namespace}:lock*lossy*`);
    const after = await open.locks.acquire('lossy');
    expect(after.fence > before.fence).toBe(true);
    await after.release();
  });

  it.each([
    ['', {}, 'ERR_INVALID_KEY'],
    ['k', { lease: 50 }, 'ERR_INVALID_OPTIONS'],
    ['k', { leese: 500 }, 'ERR_INVALID_OPTIONS'],
    ['k', { wait: 'soon' }, 'ERR_INVALID_OPTIONS'],
  ])('refuses key %j with %j', async (key, options, code) => {
    await expect(open.locks.acquire(key, options as object)).rejects.toMatchObject({ code });
  });
});

describeOn('standalone', 'many locks', { user: 'lock' }, (topology) => {
  it('leave nothing behind in the process', async () => {
    const open = await openLocks(topology);
    for (let batch = 0; batch < 100; batch++) {
      await Promise.all(
        Array.from({ length: 100 }, (_, i) => open.locks.using(['key', batch, i], {}, () => undefined)),
      );
    }
    expect(open.locks.stats()).toEqual({ held: 0, running: 0, cleaning: 0 });
    await open.close();
  });
});
