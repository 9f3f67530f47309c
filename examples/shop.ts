// All together: an order that is limited, placed once, takes from the stock under a lock, and is billed by a consumer.
import 'reflect-metadata';
import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Body, Controller, Get, Injectable, Module, Param, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  Cacheable,
  CacheService,
  Idempotent,
  InjectRedis,
  MessageBody,
  RateLimit,
  RedisPatternsModule,
  StreamConsumer,
  StreamProducer,
  WithLock,
  type RedisClient,
} from 'nestjs-redis-patterns';

interface Order {
  readonly id: string;
  readonly product: string;
}

@Injectable()
class StockService {
  readonly left = new Map([['lamp', 2]]);

  constructor(
    private readonly cache: CacheService,
    private readonly events: StreamProducer,
  ) {}

  @Cacheable({ key: (product: string) => ['left', product], ttl: '1m' })
  async count(product: string): Promise<number> {
    return this.left.get(product) ?? 0;
  }

  @WithLock({ key: (product: string) => ['stock', product], wait: '2s' })
  async take(product: string): Promise<Order> {
    const left = (this.left.get(product) ?? 0) - 1;
    this.left.set(product, left);
    await this.cache.evict(['left', product]);
    const order = { id: randomUUID(), product };
    await this.events.publish('orders', order, { type: 'placed' });
    return order;
  }
}

@Controller('orders')
class OrdersController {
  constructor(private readonly stock: StockService) {}

  @Post()
  @RateLimit({ limit: 10, window: '1m' })
  @Idempotent({ ttl: '24h' })
  place(@Body('product') product: string): Promise<Order> {
    return this.stock.take(product);
  }

  @Get('left/:product')
  async left(@Param('product') product: string): Promise<{ left: number }> {
    return { left: await this.stock.count(product) };
  }
}

@Injectable()
class Billing {
  readonly billed: string[] = [];

  // The raw client of the same connection, for what the patterns do not cover.
  constructor(@InjectRedis() readonly redis: RedisClient) {}

  @StreamConsumer({ stream: 'orders', group: 'billing', type: 'placed' })
  async bill(@MessageBody() order: Order): Promise<void> {
    this.billed.push(order.id);
  }
}

@Module({
  imports: [
    RedisPatternsModule.forRoot({
      namespace: `example-shop-${process.pid}`,
      connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379',
    }),
  ],
  controllers: [OrdersController],
  providers: [StockService, Billing],
})
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
  await app.listen(0, '127.0.0.1');
  const url = `${await app.getUrl()}/orders`;
  const place = async (key: string) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key };
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ product: 'lamp' }) });
    return { status: response.status, order: (await response.json()) as Order };
  };
  const left = async () => ((await (await fetch(`${url}/left/lamp`)).json()) as { left: number }).left;

  assert.equal(await left(), 2);
  const key = randomUUID();
  const [first, again] = [await place(key), await place(key)];
  assert.equal(first.status, 201);
  assert.deepEqual(again, first);
  assert.equal(await left(), 1);
  console.log('sent twice with one key: one order, and the same answer');

  const second = await place(randomUUID());
  assert.equal(await left(), 0);
  const { billed, redis } = app.get(Billing);
  const end = Date.now() + 20_000;
  while (billed.length < 2 && Date.now() < end) await pause(20);
  assert.deepEqual(new Set(billed), new Set([first.order.id, second.order.id]));
  console.log('both orders were billed by the consumer');

  assert.equal(await redis.ping(), 'PONG');
  await app.close();
}

void main();
