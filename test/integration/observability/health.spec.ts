import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TerminusModule } from '@nestjs/terminus';
import { RedisTelemetry } from 'nestjs-redis-patterns';
import {
  RedisPatternsHealthIndicator,
  type HealthCheckOptions,
} from '../../../libs/redis-patterns/src/health/index.js';
import { PatternsApp } from '../../../libs/redis-patterns/src/nest/patterns-app.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology, uniqueNamespace, useOwn } from '../../support/topologies.js';
import { openShop, type ShopApp } from './shop-app.js';

const PATIENT = { timeout: 15_000 };

/** What an answer is about, and what is wrong. */
interface Answer {
  readonly status: string;
  readonly connections: Record<string, { status: string; roles: Record<string, string>; reasons: string[] }>;
}

describeOnEachTopology('health', { user: ['cache', 'rateLimit', 'lock', 'stream', 'idempotency'] }, (topology) => {
  it('is up, by what the user of the application may ask', async () => {
    const { app } = await openShop(topology, {
      imports: [{ module: TerminusModule }],
      providers: [RedisPatternsHealthIndicator],
    });
    try {
      const indicator = app.get(RedisPatternsHealthIndicator);
      await eventually(async () => {
        const { redis } = await indicator.check('redis', { cacheFor: 0, timeout: '3s' });
        expect(redis).toMatchObject({ status: 'up', connections: { default: { status: 'up', reasons: [] } } });
      });
    } finally {
      await app.close();
    }
  });
});

describe('health', () => {
  const durable = useOwn('standalone', { user: ['lock', 'stream'] });
  const cache = useOwn('standalone', { user: 'cache' });
  let shop: ShopApp;

  beforeAll(async () => {
    const connection = { ...durable.topology.connection, purpose: 'durable', pingInterval: 200 } as const;
    shop = await openShop(
      { connection, namespace: uniqueNamespace() },
      {
        options: {
          connections: { cache: { ...cache.topology.connection, purpose: 'cache' } },
          cache: { connection: 'cache', l1: true },
        },
        imports: [{ module: TerminusModule }],
        providers: [RedisPatternsHealthIndicator],
      },
    );
    await shop.shop.find('1');
    // Who waits for a lock listens on the subscriber.
    const held = await shop.locks.acquire('any');
    const waiting = shop.locks.using('any', { wait: '5s' }, () => undefined);
    await eventually(async () => (await shop.locks.inspect('any'))!.waiting === 1);
    await held.release();
    await waiting;
  });
  afterAll(() => shop.app.close());

  async function check(options: HealthCheckOptions = {}): Promise<Answer> {
    const indicator = shop.app.get(RedisPatternsHealthIndicator);
    const { redis } = await indicator.check('redis', { cacheFor: 0, timeout: '3s', gap: '1ms', ...options });
    return redis as unknown as Answer;
  }

  it('is up, with every role', async () => {
    await eventually(async () =>
      expect(await check()).toEqual({
        status: 'up',
        connections: {
          default: { status: 'up', roles: { command: 'up', blocking: 'up', subscriber: 'up' }, reasons: [] },
          cache: { status: 'up', roles: { command: 'up', tracking: 'up' }, reasons: [] },
        },
      }),
    );
  });

  it('is degraded while the subscriber alone hears nothing, and up again', async () => {
    let sockets = 0;
    const stop = shop.app.get(RedisTelemetry).on('connection', ({ role, to }) => {
      if (role === 'subscriber' && to === 'ready') sockets++;
    });
    await durable.admin.client.call('ACL', 'SETUSER', 'app', 'resetchannels', '-subscribe');
    // It has a socket again, on which it hears nothing.
    await eventually(() => sockets > 0, PATIENT);
    stop();
    await eventually(async () => {
      const { status, connections } = await check();
      expect([status, connections.default!.roles]).toEqual([
        'degraded',
        { command: 'up', blocking: 'up', subscriber: 'down' },
      ]);
    });
    await durable.admin.client.call('ACL', 'SETUSER', 'app', 'allchannels', '+subscribe');
    await durable.admin.client.call('CLIENT', 'KILL', 'USER', 'app');
    await eventually(async () => expect((await check()).status).toBe('up'), PATIENT);
    // That messages may have been missed shows for a while.
    expect((await check({ gap: '1m' })).connections.default!.reasons).toEqual(['gap']);
  });

  it('is degraded without the cache, down without what is critical, in time, and up again', async () => {
    for (const [own, status] of [
      [cache, 'degraded'],
      [durable, 'down'],
    ] as const) {
      const { topology } = own;
      const node = await topology.primary();
      topology.freeze(node);
      try {
        const began = performance.now();
        const answer = await check({ timeout: '400ms' });
        expect(performance.now() - began).toBeLessThan(2000);
        expect(answer.status).toBe(status);
        expect(shop.app.get(RedisPatternsHealthIndicator).live('redis')).toEqual({ redis: { status: 'up' } });
      } finally {
        topology.resume(node);
      }
      await eventually(async () => expect((await check()).status).toBe('up'), PATIENT);
    }
  });

  it('sees a full memory, a lag, and a reader that does not turn', async () => {
    const { client } = durable.admin;
    const used = /used_memory:(\d+)/.exec(await client.info('memory'))![1]!;
    await client.config('SET', 'maxmemory', String(Math.round(Number(used) * 1.02)));
    await eventually(async () => expect((await check()).connections.default!.reasons).toContain('memory'));
    expect((await check({ memory: false })).status).toBe('up');
    await client.config('SET', 'maxmemory', '0');

    const { telemetry } = shop.app.get(PatternsApp);
    expect((await check({ lag: 10 })).status).toBe('up');
    const where = { connection: 'default', stream: 'orders', group: 'billing' };
    telemetry.emit('lag', {
      ...where,
      lag: 11,
      pending: 1,
      oldestMs: 5000,
      retries: 0,
      parked: 0,
      deadLetters: 0,
      members: 1,
      inFlight: 0,
    });
    const limits = { lag: 10, oldestPending: '1s' } as const;
    expect((await check(limits)).connections.default!.reasons).toEqual([
      'lag orders/billing',
      'pending orders/billing',
    ]);

    const past = performance.now() - 60_000;
    const loop = { connection: 'default', period: 5000, turnedAt: past, answeredAt: past, waiting: false };
    const endWatch = telemetry.loops.add({ name: 'mails/send', ...loop });
    expect((await check()).connections.default!.reasons).toEqual(['reader mails/send']);
    expect(shop.app.get(RedisPatternsHealthIndicator).live('redis')).toEqual({
      redis: { status: 'down', stuck: ['mails/send'] },
    });
    endWatch();
  });

  it('refuses a connection that there is not', async () => {
    await expect(check({ critical: ['durabel'] })).rejects.toThrow("no connection is named 'durabel'");
  });
});
