import { Controller, Get, Injectable, Module, Param } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Cacheable,
  CacheService,
  LockService,
  RateLimitExceededError,
  RateLimitService,
  RateLimit,
  RedisPatternsModule,
  RedisUnavailableError,
  StreamConsumer,
  StreamProducer,
  WithLock,
} from 'nestjs-redis-patterns';
import {
  InMemoryRedis,
  recordingFake,
  RedisPatternsTestingModule,
  startTestRedis,
  withInMemoryRedis,
} from '../../../libs/redis-patterns/src/testing/index.js';
import { findServer } from '../../../scripts/servers/index.mjs';
import { eventually } from '../../support/eventually.js';
import { RedisAdmin } from '../../support/redis-admin.js';

@Injectable()
class ShopService {
  loads = 0;
  readonly handled: unknown[] = [];
  failures = 0;

  @Cacheable({ ttl: '1m', key: (id: number) => ['product', id], tags: ['products'] })
  async product(id: number): Promise<{ id: number }> {
    this.loads++;
    return { id };
  }

  @WithLock({ key: (id: number) => ['order', id], onBusy: 'throw' })
  async pay(_id: number, work: () => Promise<void>): Promise<void> {
    await work();
  }

  @RateLimit({ algorithm: 'sliding-window', limit: 2, window: '1m' }, { by: () => 'all' })
  async search(): Promise<string> {
    return 'found';
  }

  @StreamConsumer({ stream: 'orders', group: 'mail', retry: { attempts: 3, backoff: { base: 1, max: 5 } } })
  async onOrder(order: unknown): Promise<void> {
    if (this.failures-- > 0) throw new Error('not yet');
    this.handled.push(order);
  }
}

describe('an application on a Redis in memory', () => {
  let app: Awaited<ReturnType<typeof boot>>;
  const boot = async () => {
    const module = await Test.createTestingModule({
      imports: [RedisPatternsTestingModule.forRoot()],
      providers: [ShopService],
    }).compile();
    module.useLogger(false);
    return module.init();
  };
  beforeEach(async () => {
    app = await boot();
  });
  afterEach(() => app.close());

  it('caches, invalidates by tag and expires', async () => {
    const shop = app.get(ShopService);
    expect([await shop.product(1), await shop.product(1), shop.loads]).toEqual([{ id: 1 }, { id: 1 }, 1]);
    await app.get(CacheService).invalidateTags(['products']);
    await shop.product(1);
    expect(shop.loads).toBe(2);
    expect(app.get(InMemoryRedis).keys('test:cache:*')).toEqual(['test:cache:product:1']);
    app.get(InMemoryRedis).flush();
    await shop.product(1);
    expect(shop.loads).toBe(3);
  });

  it('locks, waits in a queue and fences', async () => {
    const shop = app.get(ShopService);
    const locks = app.get(LockService);
    const fences: bigint[] = [];
    await shop.pay(1, async () => {
      await expect(shop.pay(1, async () => undefined)).rejects.toThrow();
    });
    await Promise.all(
      [1, 2, 3].map(() => locks.using(['o', 1], { wait: '5s' }, async ({ fence }) => void fences.push(fence))),
    );
    expect(new Set(fences).size).toBe(3);
    expect(fences).toEqual(fences.toSorted((a, b) => (a < b ? -1 : 1)));
  });

  it('limits', async () => {
    const shop = app.get(ShopService);
    expect([await shop.search(), await shop.search()]).toEqual(['found', 'found']);
    await expect(shop.search()).rejects.toBeInstanceOf(RateLimitExceededError);
  });

  it('delivers messages, and tries a failed one again', async () => {
    const shop = app.get(ShopService);
    shop.failures = 2;
    await app.get(StreamProducer).publish('orders', { order: 1 });
    await eventually(() => expect(shop.handled).toEqual([{ order: 1 }]));
  });

  it('fails while Redis is down as it does with a real one', async () => {
    const redis = app.get(InMemoryRedis);
    const shop = app.get(ShopService);
    redis.goDown();
    await expect(app.get(CacheService).set('k', 1)).rejects.toBeInstanceOf(RedisUnavailableError);
    expect(await shop.product(7)).toEqual({ id: 7 });
    redis.comeBack();
    await app.get(StreamProducer).publish('orders', { order: 2 });
    await eventually(() => expect(shop.handled).toEqual([{ order: 2 }]));
  });
});

describe('other ways to test', () => {
  @Controller()
  class Products {
    constructor(private readonly shop: ShopService) {}
    @Get(':id')
    get(@Param('id') id: string) {
      return this.shop.product(Number(id));
    }
  }
  @Module({
    imports: [RedisPatternsModule.forRoot({ namespace: 'shop', connection: 'redis://127.0.0.1:1' })],
    controllers: [Products],
    providers: [ShopService],
  })
  class AppModule {}

  it('puts a Redis in memory under a whole application', async () => {
    const { builder, redis } = withInMemoryRedis(Test.createTestingModule({ imports: [AppModule] }));
    const module = await builder.compile();
    module.useLogger(false);
    await module.init();
    try {
      await module.get(ShopService).product(1);
      expect(redis.keys()).toContain('shop:cache:product:1');
    } finally {
      await module.close();
    }
  });

  it('records what a service is asked', async () => {
    const { service, calls } = recordingFake<RateLimitService>({ consume: { allowed: false } });
    const module = await Test.createTestingModule({
      providers: [{ provide: RateLimitService, useValue: service }],
    }).compile();
    expect(await module.get(RateLimitService).consume('api', 'user:1')).toEqual({ allowed: false });
    expect(calls).toEqual([{ method: 'consume', args: ['api', 'user:1'] }]);
    await module.close();
  });

  it('starts a real server, and ends it', async () => {
    const { path: binary, env } = await findServer();
    const redis = await startTestRedis({ binary, env, config: { maxmemory: '20mb' } });
    const admin = await RedisAdmin.connect({ mode: 'standalone', host: '127.0.0.1', port: redis.port });
    expect(await admin.client.call('CONFIG', 'GET', 'maxmemory')).toBeDefined();
    admin.close();
    await redis.stop();
    await redis.stop();
    await expect(startTestRedis({ binary: '/nowhere/redis-server' })).rejects.toThrow(
      /no Redis server found.*REDIS_SERVER_BIN/s,
    );
  });
});
