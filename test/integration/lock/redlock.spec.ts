import { afterEach, describe, expect, it } from '@jest/globals';
import { LockService, LockUnavailableError, RedisPatternsModule } from 'nestjs-redis-patterns';
import { Test } from '@nestjs/testing';
import { sleep } from '../../../libs/redis-patterns/src/core/index.js';
import { eventually } from '../../support/eventually.js';
import { startProxy } from '../../support/topologies.js';
import { RedlockNodes } from './redlock-nodes.js';

let nodes: RedlockNodes;
afterEach(() => nodes.close());
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error as Error,
  );

describe.each([3, 5])('Redlock on %i servers', (count) => {
  const minority = Math.floor((count - 1) / 2);
  const nothingLeft = (key: string, servers = nodes.servers) =>
    eventually(async () => expect(new Set(await nodes.values(key, servers))).toEqual(new Set([null])), {
      timeout: 10_000,
    });

  it('takes a lock everywhere, with the same token, and gives it back everywhere', async () => {
    nodes = await RedlockNodes.start(count);
    const [one, two] = [await nodes.open(), await nodes.open()];
    const lock = await one.acquire('all', { lease: '20s' });
    await eventually(async () => expect(new Set(await nodes.values('all'))).toEqual(new Set([`${lock.token}:1`])));
    expect(await two.tryAcquire('all')).toBeNull();
    // A quorum has agreed on it; the others hear of it a moment later.
    await eventually(async () => expect(await two.inspect('all')).toMatchObject({ fence: lock.fence }));
    await lock.extend();
    expect(await lock.release()).toBe(true);
    await nothingLeft('all');
    const next = await two.acquire('all');
    expect(next.fence > lock.fence).toBe(true);
    expect(await one.forceRelease('all')).toBe(true);
    await expect(next.extend()).rejects.toMatchObject({ code: 'ERR_LOCK_LOST', reason: 'expired' });
    expect(await one.inspect('all')).toBeNull();
  }, 30_000);

  it('survives the loss of a minority, and refuses without a quorum, leaving nothing behind', async () => {
    nodes = await RedlockNodes.start(count);
    const [one, two] = [await nodes.open(), await nodes.open()];
    const held = await one.acquire('minority', { lease: 1500, autoExtend: true });
    const [lost, alive] = [nodes.servers.slice(0, minority), nodes.servers.slice(minority)];
    await Promise.all(lost.map((server) => server.kill()));
    const before = held.deadline;
    await eventually(() => expect(held.deadline).toBeGreaterThan(before));
    expect(await two.tryAcquire('minority')).toBeNull();
    expect(await held.release()).toBe(true);
    await two.using('minority', {}, () => undefined);
    await nothingLeft('minority', alive);

    const doomed = await one.acquire('doomed', { lease: 1500, autoExtend: true });
    await alive[0]!.kill();
    const began = performance.now();
    expect(await failure(two.acquire('none', { lease: '60s' }))).toBeInstanceOf(LockUnavailableError);
    expect(performance.now() - began).toBeLessThan(3000);
    await nothingLeft('none', alive.slice(1));
    await eventually(() => doomed.signal.aborted);
    expect(doomed.signal.reason).toMatchObject({ code: 'ERR_LOCK_LOST', reason: 'unreachable' });
  }, 30_000);

  it('settles when a quorum has become impossible, by others or by silence', async () => {
    nodes = await RedlockNodes.start(count);
    const service = await nodes.open();
    const others = nodes.servers.slice(0, count - minority);
    await Promise.all(
      others.map(({ admin }, n) => admin.client.set('shop:lock:split', `other${n}`, 'PX', 10_000 * (n + 1))),
    );
    const refused = await failure(service.acquire('split'));
    // One lease has to end, the first.
    expect((refused as Error & { retryAfterMs: number }).retryAfterMs).toBeLessThanOrEqual(10_000);
    expect(refused).toMatchObject({ code: 'ERR_LOCK_TIMEOUT' });
    await nothingLeft('split', nodes.servers.slice(count - minority));

    // Nobody knows when some say no and others nothing.
    await Promise.all(nodes.servers.slice(1, count - minority).map((server) => server.freeze()));
    const began = performance.now();
    const unknown = await failure(service.acquire('split', { lease: '60s' }));
    const took = performance.now() - began;
    for (const server of nodes.servers.slice(1, count - minority)) server.resume();
    expect(unknown).toBeInstanceOf(LockUnavailableError);
    expect(took).toBeLessThan(3000);
    await nothingLeft('split', nodes.servers.slice(count - minority));
    expect(await nodes.values('split', others)).toEqual(others.map((_, n) => `other${n}`));
    await eventually(() => expect(service.stats().cleaning).toBe(0), { timeout: 10_000 });
  }, 30_000);
});

describe('Redlock', () => {
  it('is not held up by a frozen node, and takes back what that grants late', async () => {
    nodes = await RedlockNodes.start(3);
    const service = await nodes.open({ nodeTimeout: 2000 });
    await service.using('warm-up', {}, () => undefined);
    await nodes.servers[2]!.freeze();
    const began = performance.now();
    const lock = await service.acquire('late', { lease: '60s' });
    expect(performance.now() - began).toBeLessThan(1500);
    const released = lock.release();
    nodes.servers[2]!.resume();
    expect(await released).toBe(true);
    // The server has granted it by now, for a minute; it is asked to forget that as soon as it has said so.
    await eventually(async () => expect(await nodes.values('late')).toEqual([null, null, null]), { timeout: 10_000 });
    await eventually(() => expect(service.stats().cleaning).toBe(0), { timeout: 10_000 });
  }, 30_000);

  it('gives out fences that grow, whichever nodes are the quorum', async () => {
    nodes = await RedlockNodes.start(3);
    const [a, b, c] = nodes.servers;
    const service = await nodes.open();
    const ahead = BigInt(Date.now() + 3_600_000) * 1000n;
    await a!.admin.client.set('shop:lock~fence:{shop:lock:fenced}', String(ahead), 'PX', 600_000);
    await c!.kill();
    const first = await service.acquire('fenced');
    expect(first.fence).toBe(ahead + 1n);
    await first.release();
    await a!.kill();
    await c!.restart();
    // The server that was ahead is gone, and the other has forgotten all.
    const second = await service.acquire('fenced', { wait: '10s' });
    expect(second.fence > first.fence).toBe(true);
    await second.release();
    expect(await b!.admin.client.exists('shop:lock:fenced')).toBe(0);
  }, 30_000);

  it('lets one at a time in, while nodes freeze and come back', async () => {
    nodes = await RedlockNodes.start(3);
    const services = await Promise.all([1, 2, 3].map(() => nodes.open()));
    const fences: bigint[] = [];
    let inside = 0;
    let overlaps = 0;
    let working = true;
    const trouble = (async () => {
      for (let n = 0; working; n++) {
        const server = nodes.servers[n % 3]!;
        await server.freeze();
        await sleep(150);
        server.resume();
        await sleep(50);
      }
    })();
    await Promise.all(
      Array.from({ length: 9 }, async (_, n) => {
        for (let round = 0; round < 3; round++) {
          await services[n % 3]!.using('history', { lease: '10s', wait: '60s' }, async (lock) => {
            if (++inside > 1) overlaps++;
            fences.push(lock.fence);
            await sleep(2);
            inside--;
          });
        }
      }),
    );
    working = false;
    await trouble;
    expect(overlaps).toBe(0);
    expect(fences).toHaveLength(27);
    expect(fences).toEqual([...new Set(fences)].toSorted((x, y) => (x < y ? -1 : 1)));
    await eventually(async () => expect(await nodes.values('history')).toEqual([null, null, null]), {
      timeout: 10_000,
    });
    for (const service of services) {
      const nothing = { held: 0, running: 0, cleaning: 0 };
      await eventually(() => expect(service.stats()).toEqual(nothing), { timeout: 10_000 });
    }
  }, 90_000);

  it('does not let a server vote that has run for less than a lease', async () => {
    nodes = await RedlockNodes.start(3);
    const service = await nodes.open({ restartGuard: true, lease: 1000 });
    const young = await failure(service.acquire('guarded', { lease: '1h' }));
    expect(young).toBeInstanceOf(LockUnavailableError);
    expect(String((young as Error).cause)).toMatch(/restartGuard/);
    expect(await nodes.values('guarded')).toEqual([null, null, null]);
    await eventually(() => service.using('guarded', {}, () => undefined), { timeout: 10_000 });
  }, 30_000);

  it('refuses at boot what cannot be independent, fair or complete', async () => {
    nodes = await RedlockNodes.start(4);
    const [a, b, c, d] = nodes.servers.map(({ topology }) => topology.connection);
    const boot = async (connections: object, lock: object) => {
      const imports = [RedisPatternsModule.forRoot({ namespace: 'shop', connections: connections as never, lock })];
      const module = await Test.createTestingModule({ imports }).compile();
      const warnings: unknown[] = [];
      module.useLogger({ log() {}, error() {}, warn: (message: unknown) => void warnings.push(message) });
      try {
        await module.init();
        await module.get(LockService).using('boot', {}, () => undefined);
      } finally {
        await module.close();
      }
      return warnings.filter((warning) => /odd number/.test(JSON.stringify(warning))).length;
    };
    const lock = { mode: 'redlock', nodes: ['a', 'b', 'c'], restartGuard: false };
    expect(await boot({ a, b, c }, lock)).toBe(0);
    expect(await boot({ a, b, c, d }, { ...lock, nodes: ['a', 'b', 'c', 'd'] })).toBe(1);
    await expect(boot({ a, b, c: b }, lock)).rejects.toThrow(/lock.nodes: 'b' and 'c' are the same server/);
    await expect(boot({ a, b, c }, { ...lock, nodes: ['a', 'b', 'd'] })).rejects.toThrow(/lock.nodes: no connection/);
    await expect(boot({ a, b, c }, { ...lock, nodes: ['a', 'b'] })).rejects.toThrow(/lock.nodes: must name at least/);
    await expect(boot({ a, b, c }, { ...lock, fair: true })).rejects.toThrow(/lock.fair: cannot be promised/);
    await expect(boot({ a, b, c }, { nodes: ['a'], connection: 'a' })).rejects.toThrow(/lock.nodes: is only for mode/);
  }, 30_000);

  it('refuses locks once a node that was away at boot turns out to be one of the others', async () => {
    nodes = await RedlockNodes.start(2);
    const [a, b] = nodes.servers.map(({ topology }) => topology);
    const proxy = await startProxy(await b!.primary());
    try {
      await proxy.set('refuse');
      const { host, port } = proxy;
      const connections = { a: a!.connection, b: b!.connection, c: { ...b!.connection, host, port } };
      const lock = { mode: 'redlock', nodes: ['a', 'b', 'c'], restartGuard: false };
      const imports = [
        RedisPatternsModule.forRoot({ namespace: 'shop', connections: connections as never, lock: lock as never }),
      ];
      const module = await Test.createTestingModule({ imports }).compile();
      module.useLogger(false);
      try {
        await module.init();
        const locks = module.get(LockService);
        await locks.using('late', {}, () => undefined);
        await proxy.set('pass');
        const refused = () => failure(locks.using('late', {}, () => undefined));
        await eventually(async () => expect(String(await refused())).toMatch(/'b' and 'c' are the same server/));
      } finally {
        await module.close();
      }
    } finally {
      await proxy.close();
    }
  }, 30_000);
});
