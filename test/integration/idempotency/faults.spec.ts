import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { IdempotencyService } from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { loseReply } from '../../support/lose-reply.js';
import type { RedisAdmin } from '../../support/redis-admin.js';
import { connectAdmin, startOwn, startProxy, type FaultProxy, type Topology } from '../../support/topologies.js';
import { gate, openIdempotency } from './test-idempotency.js';

const RECORD = 'shop:idempotency:key';

describe('idempotency and a Redis that fails', () => {
  const cleanUps: (() => Promise<unknown> | void)[] = [];
  let topology: Topology;
  let admin: RedisAdmin;
  let proxy: FaultProxy;
  let service: IdempotencyService;
  beforeEach(async () => {
    topology = await startOwn('standalone', { user: 'idempotency' });
    cleanUps.push(() => topology.stop());
    proxy = await startProxy(await topology.primary());
    cleanUps.push(() => proxy.close());
    admin = await connectAdmin(topology);
    cleanUps.push(() => admin.close());
    const { host, port } = proxy;
    const connection = { mode: 'standalone', host, port, ...topology.users?.app } as const;
    const open = await openIdempotency({ connection, namespace: 'shop' }, {}, { commandTimeout: 500 });
    cleanUps.push(() => open.close());
    ({ service } = open);
    // The server knows the scripts from here on: what a fault hits is a reply, never NOSCRIPT.
    await service.run('warm-up', 'f', () => 1);
    await service.run('warm-up failure', 'f', () => Promise.reject(new Error())).catch(() => undefined);
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
  });

  it('does not run what it cannot check, or runs it by choice, and keeps that once Redis is back', async () => {
    const node = await topology.primary();
    await topology.kill(node);
    let runs = 0;
    const work = (): number => ++runs;
    const unavailable = { code: 'ERR_IDEMPOTENCY_UNAVAILABLE', status: 503, retryAfter: 1 };
    const began = performance.now();
    await expect(service.run('key', 'f', work)).rejects.toMatchObject(unavailable);
    expect(performance.now() - began).toBeLessThan(2000);
    expect(runs).toBe(0);
    const before = BigInt(Date.now()) * 1000n;
    const fence = await service.run('key', 'f', (context) => (work(), context.fence), { onStoreError: 'open' });
    expect([runs, fence >= before]).toEqual([1, true]);
    await topology.restart(node);
    await eventually(async () => expect(await admin.client.hget(RECORD, 's')).toBe('C'), { timeout: 10_000 });
    expect(await service.run('key', 'f', work)).toEqual(fence);
  });

  it('refuses by the deadline while Redis hangs, and leaves no record of what was not run', async () => {
    await proxy.set('dropDown');
    const began = performance.now();
    await expect(service.run('key', 'f', () => 1)).rejects.toMatchObject({ status: 503 });
    expect(performance.now() - began).toBeLessThan(2500);
    await proxy.set('pass');
    await eventually(() => expect(service.stats().finishing).toBe(0), { timeout: 10_000 });
    expect(await admin.client.exists(RECORD)).toBe(0);
  });

  it('finds its own beginning again after a lost reply', async () => {
    const begun = async (): Promise<boolean> => (await admin.client.hget(RECORD, 's')) === 'P';
    expect(await loseReply(proxy, () => service.run('key', 'f', () => 'ran once'), begun)).toBe('ran once');
    expect(await admin.client.hget(RECORD, 's')).toBe('C');
  });

  it.each(['dropUp', 'dropDown'] as const)(
    'turns no success into an error when completing fails: %s',
    async (fault) => {
      const { promise, open } = gate<string>();
      const begun = gate();
      const running = service.run('key', 'f', () => (begun.open(), promise));
      // Not as soon as the record is there: the reply that lets it begin would be lost.
      await begun.promise;
      await proxy.set(fault);
      open('done');
      expect(await running).toBe('done');
      expect(service.stats()).toEqual({ waiting: 0, running: 0, finishing: 1 });
      await proxy.set('pass');
      await eventually(() => expect(service.stats().finishing).toBe(0), { timeout: 10_000 });
      expect(await service.run('key', 'f', () => 'never')).toBe('done');
    },
  );

  it('passes on the error of a function, and frees its key later', async () => {
    const { promise, open } = gate();
    const begun = gate();
    const running = service.run('key', 'f', () => {
      begun.open();
      return promise.then(() => Promise.reject(new Error('of the function')));
    });
    await begun.promise;
    await proxy.set('dropUp');
    open();
    await expect(running).rejects.toThrow('of the function');
    await proxy.set('pass');
    await eventually(async () => expect(await admin.client.exists(RECORD)).toBe(0), { timeout: 10_000 });
  });

  it('tells a run by its signal when its lease could not be renewed, and keeps its result', async () => {
    const lost = await service.run(
      'key',
      'f',
      async ({ signal }) => {
        await proxy.set('dropUp');
        await eventually(() => signal.aborted);
        await proxy.set('pass');
        return (signal.reason as { reason: string }).reason;
      },
      { lease: 800 },
    );
    expect(lost).toBe('expired');
    await eventually(async () => expect(await admin.client.hget(RECORD, 's')).toBe('C'));
  });
});
