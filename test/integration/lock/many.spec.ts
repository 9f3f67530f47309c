import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { LockLostError, LockReentryError, LockTimeoutError, type LockHandle } from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openLocks, type OpenLocks } from './test-locks.js';

const caught = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

describeOnEachTopology('several locks at once', { user: 'lock' }, (topology) => {
  let open: OpenLocks;
  let locks: OpenLocks['locks'];
  beforeAll(async () => {
    open = await openLocks(topology);
    ({ locks } = open);
  });
  afterAll(() => open.close());
  const lockKey = (key: string): string => `${topology.namespace}:lock:${key}`;
  const exist = async (...keys: string[]): Promise<number[]> =>
    Promise.all(keys.map((key) => topology.admin.client.exists(lockKey(key))));

  it('are taken together and given back together, each with its fence', async () => {
    const both = await locks.acquireMany(['b', ['a', 1], 'b'], { lease: '20s' });
    expect(both.keys).toEqual([lockKey('a:1'), lockKey('b')]);
    for (const key of both.keys) {
      const fence = await topology.admin.client.get(`${topology.namespace}:lock~fence:{${key}}`);
      expect(both.fences.get(key)!.toString()).toBe(fence);
    }
    expect([...both.fences.values()]).toContain(both.fence);
    expect(await locks.tryAcquire('b')).toBeNull();
    await both.extend('40s');
    expect(both.remaining()).toBeGreaterThan(30_000);
    expect(await both.release()).toBe(true);
    expect(await exist('a:1', 'b')).toEqual([0, 0]);
    await expect(locks.acquireMany([])).rejects.toMatchObject({ code: 'ERR_INVALID_OPTIONS' });
  });

  it('are all or none: what cannot be had at once leaves the others free, and says which key it was', async () => {
    const holder = await locks.acquire('none-2');
    const refused = await caught(locks.acquireMany(['none-1', 'none-2', 'none-3']));
    expect(refused).toBeInstanceOf(LockTimeoutError);
    expect(refused).toMatchObject({ key: lockKey('none-2') });
    await eventually(async () => expect(await exist('none-1', 'none-3')).toEqual([0, 0]));
    await holder.release();
    expect(await locks.usingMany(['none-3', 'none-1'], {}, ({ keys }) => keys.length)).toBe(2);
    await holder.release();
  });

  it('wait in order, and keep what they have until they have the rest', async () => {
    const holder = await locks.acquire('wait-2', { lease: '30s' });
    const waiting = locks.acquireMany(['wait-3', 'wait-1', 'wait-2'], { wait: '30s', lease: 300 });
    await eventually(async () => expect((await locks.inspect('wait-2'))!.waiting).toBe(1));
    const later = performance.now() + 600;
    await eventually(() => performance.now() > later);
    // Renewed beyond its lease; what comes later in the order is not kept from others.
    expect(await exist('wait-1', 'wait-3')).toEqual([1, 0]);
    await holder.release();
    const all = await waiting;
    expect(all.remaining()).toBeGreaterThan(0);
    expect(await exist('wait-1', 'wait-2', 'wait-3')).toEqual([1, 1, 1]);
    // From now on not renewed, as for `acquire`.
    await new Promise((resolve) => all.signal.addEventListener('abort', resolve));
    expect(all.signal.reason).toBeInstanceOf(LockLostError);
    await all.release();
  });

  it('never wait for each other in a circle', async () => {
    const names = ['p', 'q', 'r', 's'];
    const inside = new Set<string>();
    const work = async ({ keys }: LockHandle): Promise<void> => {
      for (const key of keys) expect(inside.has(key)).toBe(false);
      for (const key of keys) inside.add(key);
      await topology.admin.client.ping();
      for (const key of keys) inside.delete(key);
    };
    const turns = Array.from({ length: 24 }, (_, n) => {
      const pair = [names[n % 4]!, names[(n * 3 + 1 + (n % 2)) % 4]!];
      return locks.usingMany(n % 3 === 0 ? pair.toReversed() : pair, { wait: '25s' }, work);
    });
    await Promise.all(turns);
    await eventually(() => expect(locks.stats()).toEqual({ held: 0, running: 0, cleaning: 0 }));
  });

  it('share those that the caller holds already, where that is wanted', async () => {
    await locks.usingMany(['mine-1', 'mine-2'], {}, async (outer) => {
      await expect(locks.acquire('mine-2')).rejects.toBeInstanceOf(LockReentryError);
      await locks.usingMany(['mine-3', 'mine-2'], { reentrant: true }, async (inner) => {
        expect(inner.keys).toEqual([lockKey('mine-2'), lockKey('mine-3')]);
        expect(inner.token).not.toBe(outer.token);
      });
      outer.assertHeld();
      expect(await exist('mine-1', 'mine-2', 'mine-3')).toEqual([1, 1, 0]);
    });
    expect(await exist('mine-1', 'mine-2', 'mine-3')).toEqual([0, 0, 0]);
  });

  it('are given back when one was lost before the last was taken', async () => {
    const { client } = topology.admin;
    const holder = await locks.acquire('before-2', { lease: '60s' });
    const taking = caught(locks.acquireMany(['before-1', 'before-2'], { lease: 600, wait: '30s' }));
    await eventually(async () => expect((await locks.inspect('before-2'))!.waiting).toBe(1));
    // The renewal, after a third of the lease, finds somebody else in its place.
    await client.set(lockKey('before-1'), 'somebody', 'PX', 30_000);
    const later = performance.now() + 500;
    await eventually(() => performance.now() > later);
    await holder.release();
    expect(await taking).toMatchObject({ code: 'ERR_LOCK_LOST', reason: 'stolen', key: lockKey('before-1') });
    await eventually(() => expect(locks.stats()).toEqual({ held: 0, running: 0, cleaning: 0 }));
    expect(await exist('before-1', 'before-2')).toEqual([1, 0]);
  });

  it('are lost with the first of them', async () => {
    const lost = await caught(
      locks.usingMany(['lost-1', 'lost-2'], { lease: 300 }, async (lock) => {
        await topology.admin.client.del(lockKey('lost-2'));
        await new Promise((resolve) => lock.signal.addEventListener('abort', resolve));
        expect(lock.isHeld()).toBe(false);
      }),
    );
    expect(lost).toMatchObject({ code: 'ERR_LOCK_LOST', reason: 'expired', key: lockKey('lost-2') });
    expect(await exist('lost-1', 'lost-2')).toEqual([0, 0]);
  });
});
