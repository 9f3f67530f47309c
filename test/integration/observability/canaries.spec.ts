import type { Channel } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { LoggerService } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { Registry } from 'prom-client';
import { RedisTelemetry, type TelemetryEvents } from 'nestjs-redis-patterns';
import { RedisPatternsHealthIndicator } from '../../../libs/redis-patterns/src/health/index.js';
import { RedisPatternsMetricsModule } from '../../../libs/redis-patterns/src/metrics/index.js';
import { PatternsApp } from '../../../libs/redis-patterns/src/nest/patterns-app.js';
import { RedisPatternsOtelModule } from '../../../libs/redis-patterns/src/otel/index.js';
import { OPERATIONS } from '../../../libs/redis-patterns/src/telemetry/channels.js';
import { eventually } from '../../support/eventually.js';
import { describeOn, startProxy, type FaultProxy } from '../../support/topologies.js';
import { callOtherPatterns, Listeners } from './other-patterns.js';
import { openShop, type ShopApp } from './shop-app.js';
import { RecordedSpans } from './spans.js';

const CANARY = 'c4n4ry';
const PATIENT = { timeout: 15_000 };
const EVENTS: readonly (keyof TelemetryEvents)[] = [
  ...(['connection', 'command', 'breaker', 'gap', 'lock-lost', 'dead-letter', 'lag', 'warning', 'error'] as const),
  ...(['cache-value', 'subscription-gap'] as const),
];

describeOn(
  'standalone',
  'what telemetry tells',
  {
    user: [
      ...(['cache', 'rateLimit', 'lock', 'stream', 'idempotency', 'pubsub'] as const),
      ...(['session', 'token', 'leaderboard', 'counting', 'feed'] as const),
    ],
  },
  (topology) => {
    const spans = new RecordedSpans();
    const registry = new Registry();
    /** All that came out of the application. */
    const told: unknown[] = [];
    let proxy: FaultProxy;
    let shop: ShopApp;
    let begun = 0;
    let ended = 0;
    const ends: (() => void)[] = [];

    beforeAll(async () => {
      spans.install();
      proxy = await startProxy(topology.nodes[0]!);
      const connection = {
        ...topology.connection,
        host: proxy.host,
        port: proxy.port,
        commandTimeout: '100ms',
      } as never;
      shop = await openShop(
        { connection, namespace: topology.namespace },
        {
          options: { cache: { l1: true }, telemetry: { slow: 0, logRepeat: 0 }, stream: { maxPayload: 1000 } },
          imports: [
            { module: TerminusModule },
            RedisPatternsMetricsModule.forRoot({ registry }),
            RedisPatternsOtelModule.forRoot({ commandSpans: true }),
          ],
          providers: [RedisPatternsHealthIndicator, Listeners],
          logger: collector(told),
        },
      );
      const telemetry = shop.app.get(RedisTelemetry);
      for (const name of EVENTS) telemetry.on(name, (event) => told.push({ ...event }));
      telemetry.onOperation((operation) => told.push({ ...operation }));
      const { app } = shop.app.get(PatternsApp).telemetry;
      const subscribe = (channel: Channel, listener: () => void): void => {
        const own = (message: unknown): void => {
          if ((message as { app: string }).app === app) listener();
        };
        channel.subscribe(own);
        ends.push(() => channel.unsubscribe(own));
      };
      for (const { start, asyncEnd } of Object.values(OPERATIONS)) {
        subscribe(start as Channel, () => begun++);
        subscribe(asyncEnd as Channel, () => ended++);
      }
    });
    afterAll(async () => {
      for (const end of ends) end();
      await shop.app.close();
      await proxy.close();
      await spans.remove();
    });

    it('is never a key, a value, an argument, a token, a header or a password, whatever happens', async () => {
      await everything(shop);
      await eventually(() => expect(shop.shop.handled.length).toBeGreaterThanOrEqual(1), PATIENT);
      await topology.admin.client.rpush(`${topology.namespace}:cache:wrong:${CANARY}`, 'x');
      await shop.cache.get(['wrong', CANARY]).catch(() => undefined);
      await proxy.set('blackhole');
      await everything(shop);
      await shop.app
        .get(RedisPatternsHealthIndicator)
        .check('redis')
        .then((answer) => told.push(answer));
      await proxy.set('pass');
      await eventually(async () => {
        const { redis } = await shop.app.get(RedisPatternsHealthIndicator).check('redis', { cacheFor: 0, gap: '1ms' });
        told.push(redis);
        expect(redis.status).toBe('up');
      }, PATIENT);
      await everything(shop);

      told.push(
        await registry.metrics(),
        spans.all.map(({ name, attributes, events, status, links }) => ({ name, attributes, events, status, links })),
      );
      const text = inspect(told, { depth: 8, maxArrayLength: null, maxStringLength: null });
      const { password } = topology.connection as { password: string };
      const context = (word: string) => text.split('\n').filter((line) => line.includes(word));
      expect(context(CANARY)).toEqual([]);
      expect(context(password)).toEqual([]);
      // It did tell something of everything.
      for (const word of [
        'Shop.find',
        'LockService.using',
        'api',
        'orders',
        'ERR_REDIS_DEADLINE',
        'took',
        'TokenService.issue',
        'ack orders',
      ])
        expect(text).toContain(word);
    });

    it('ends each operation that it began, once', async () => {
      await eventually(() => expect(ended).toBe(begun), PATIENT);
      expect(begun).toBeGreaterThan(30);
    });
  },
);

/** Calls everything with something secret in every place where a value can be; what fails may fail. */
async function everything(shopApp: ShopApp): Promise<void> {
  const { shop, cache, locks, limits, producer, idempotency } = shopApp;
  const value = { secret: CANARY };
  const calls = [
    shop.find(CANARY),
    shop.reserve(CANARY),
    cache.set(`plain-${CANARY}`, value, { tags: [CANARY] }),
    cache.get(`plain-${CANARY}`),
    cache.getMany([['product', CANARY]]),
    cache.getOrSet(['failing', CANARY], () => Promise.reject(new Error(CANARY))),
    cache.evict(['product', CANARY]),
    cache.invalidateTags([CANARY]),
    limits.consume('api', ['user', CANARY]),
    locks.using(['order', CANARY], { wait: '1s' }, () => CANARY),
    locks.acquire(`lock-${CANARY}`).then((lock) => lock.release()),
    idempotency.run(['payment', CANARY], CANARY, () => value),
    producer.publish(
      'orders',
      { id: '1', secret: CANARY },
      { key: CANARY, type: undefined, headers: { secret: CANARY } },
    ),
    producer.publish('orders', { secret: CANARY.repeat(500) }),
    producer.publish('returns', { id: CANARY }, { headers: { secret: CANARY } }),
    ...callOtherPatterns(shopApp, CANARY),
  ];
  await Promise.allSettled(calls);
}

function collector(lines: unknown[]): LoggerService {
  const write = (...parts: unknown[]): void => void lines.push(parts.join(' '));
  return { log: write, warn: write, error: write, debug: write, fatal: write };
}
