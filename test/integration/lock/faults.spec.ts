import { afterEach, describe, expect, it } from '@jest/globals';
import { LockLostError, LockUnavailableError } from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { loseReply } from '../../support/lose-reply.js';
import type { RedisAdmin } from '../../support/redis-admin.js';
import { connectAdmin, startOwn, type Mode, type Topology } from '../../support/topologies.js';
import { openLocksBehindProxy, type CleanUps } from './behind-proxy.js';
import { openLocks, type OpenLocks } from './test-locks.js';

const cleanUps: CleanUps = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

async function start(mode: Mode = 'standalone'): Promise<{ topology: Topology; open: OpenLocks; admin: RedisAdmin }> {
  const topology = await startOwn(mode, { user: 'lock' });
  cleanUps.push(() => topology.stop());
  const admin = await connectAdmin(topology);
  cleanUps.push(() => admin.close());
  const open = await openLocks({ connection: topology.connection, namespace: 'shop' });
  cleanUps.push(() => open.close());
  return { topology, open, admin };
}

describe.each(['standalone', 'cluster'] as const)('locks while Redis is frozen, on %s', (mode) => {
  it('tells the holder before the lease ends, and others at once that nobody knows', async () => {
    const { topology, open } = await start(mode);
    const nodes = await topology.masters();
    const lock = await open.locks.acquire('frozen', { lease: 1000, autoExtend: true });
    for (const node of nodes) topology.freeze(node);
    await new Promise((resolve) => lock.signal.addEventListener('abort', resolve));
    const abortedAt = performance.now();
    const other = await open.locks.acquire('other').catch((error: unknown) => error);
    for (const node of nodes) topology.resume(node);
    // `deadline` is before the end of the lease in Redis: the specs of the invariants compare them.
    expect(abortedAt - lock.deadline).toBeLessThan(100);
    expect(abortedAt).toBeGreaterThanOrEqual(lock.deadline);
    expect(lock.signal.reason).toMatchObject({ code: 'ERR_LOCK_LOST', reason: 'unreachable' });
    expect(other).toBeInstanceOf(LockUnavailableError);
  });

  it('leaves nothing behind of an acquire that was given up, once Redis is back', async () => {
    const { topology, open, admin } = await start(mode);
    const nodes = await topology.masters();
    for (const node of nodes) topology.freeze(node);
    const failure = await open.locks.acquire('orphan', { lease: '60s' }).catch((error: unknown) => error);
    for (const node of nodes) topology.resume(node);
    expect(failure).toBeInstanceOf(LockUnavailableError);
    await eventually(() => expect(open.locks.stats().cleaning).toBe(0), { timeout: 10_000 });
    expect(await admin.keys('shop:lock:*')).toEqual([]);
  });
});

describe('locks and a Redis that dies', () => {
  it('says that the lock is lost when its key is gone after a restart, and takes it anew', async () => {
    const { topology, open } = await start();
    const before = await open.locks.acquire('restart', { lease: 2000, autoExtend: true });
    const node = await topology.primary();
    await topology.kill(node);
    await topology.restart(node, { data: 'wipe' });
    await new Promise((resolve) => before.signal.addEventListener('abort', resolve));
    expect(before.signal.reason).toBeInstanceOf(LockLostError);
    const after = await open.locks.acquire('restart', { wait: '5s' });
    expect(after.fence > before.fence).toBe(true);
    await after.release();
  });

  it('fails fast with the name of the trouble while Redis is gone', async () => {
    const { topology, open } = await start();
    await topology.kill(await topology.primary());
    const began = performance.now();
    await expect(open.locks.acquire('gone')).rejects.toMatchObject({ code: 'ERR_LOCK_UNAVAILABLE' });
    expect(performance.now() - began).toBeLessThan(1500);
    await expect(open.locks.inspect('gone')).rejects.toMatchObject({ code: 'ERR_REDIS_NOT_READY' });
  });
});

describe('a lock that replicas have confirmed', () => {
  it('outlives the crash of its primary', async () => {
    const own = await startOwn('sentinel', { user: 'lock' });
    cleanUps.push(() => own.stop());
    const open = await openLocks({ connection: own.connection, namespace: 'shop' }, { replicaAck: 2 });
    cleanUps.push(() => open.close());
    await eventually(() => open.locks.using('ready', {}, () => true), { timeout: 20_000 });
    const lock = await open.locks.acquire('confirmed', { lease: '60s' });
    const old = await own.primary();
    await own.kill(old);
    const master = await eventually(
      async () => {
        const [found] = await own.masters();
        return found !== undefined && found !== old ? found : (false as never);
      },
      { timeout: 30_000 },
    );
    expect(await master.command('GET', lock.key)).toBe(lock.token);
    // Its renewals go on there, in time.
    await eventually(() => lock.extend().then(() => true), { timeout: 20_000 });
  }, 60_000);
});

describe('locks and a lost reply', () => {
  it('finds its own grant again', async () => {
    const { open, admin, proxy } = await openLocksBehindProxy(cleanUps);
    const granted = async (): Promise<boolean> => (await admin.client.exists('shop:lock:lost')) === 1;
    const lock = await loseReply(proxy, () => open.locks.acquire('lost', { wait: '5s' }), granted);
    expect(await admin.client.get('shop:lock:lost')).toBe(lock.token);
    expect(await lock.release()).toBe(true);
    expect(await admin.client.exists('shop:lock:lost')).toBe(0);
  });

  it('renews at once a lock whose grant was on its way for most of the lease', async () => {
    const { open, proxy } = await openLocksBehindProxy(cleanUps);
    await proxy.set('blackhole');
    const acquiring = open.locks.acquire('slow', { wait: '10s', lease: 1000, autoExtend: true });
    const most = performance.now() + 780;
    await eventually(() => performance.now() > most);
    await proxy.set('pass');
    const lock = await acquiring;
    expect(lock.remaining()).toBeLessThan(1000 / 3);
    await eventually(() => lock.remaining() > 500, { timeout: 300 });
    expect(await lock.release()).toBe(true);
  });

  it('keeps the lock that a request brought which had been given up, and was asked again', async () => {
    const { open, admin, proxy } = await openLocksBehindProxy(cleanUps);
    await proxy.set('blackhole');
    const acquiring = open.locks.acquire('late', { wait: '10s', lease: '60s' });
    // An attempt is given up after a second.
    const second = performance.now() + 1150;
    await eventually(() => performance.now() > second);
    await proxy.set('pass');
    const lock = await acquiring;
    // What would clean up does so at once, and a second later.
    const later = performance.now() + 1500;
    await eventually(() => performance.now() > later);
    await eventually(() => expect(open.locks.stats()).toEqual({ held: 1, running: 0, cleaning: 0 }));
    expect(await admin.client.get('shop:lock:late')).toBe(lock.token);
    expect(await lock.release()).toBe(true);
  });
});
