// Pub/sub: every instance hears every message, and is told when some may have been missed.
import 'reflect-metadata';
import { strict as assert } from 'node:assert';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  InjectRedis,
  OnSubscriptionGap,
  PubSubService,
  RedisPatternsModule,
  Subscribe,
  type RedisClient,
  type SubscriptionGap,
} from 'nestjs-redis-patterns';

interface Stock {
  readonly product: string;
  readonly left: number;
}

const namespace = `example-pubsub-${process.pid}`;

@Injectable()
class StockDisplay {
  readonly left = new Map<string, number>();
  readonly gaps: SubscriptionGap[] = [];

  constructor(@InjectRedis() readonly redis: RedisClient) {}

  @Subscribe('stock')
  show({ product, left }: Stock): void {
    this.left.set(product, left);
  }

  // Here an application loads the state anew: no later message is handled before that.
  @OnSubscriptionGap('stock')
  reload(gap: SubscriptionGap): void {
    this.gaps.push(gap);
  }
}

@Module({
  imports: [RedisPatternsModule.forRoot({ namespace, connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' })],
  providers: [StockDisplay],
})
class AppModule {}

async function until(done: () => boolean): Promise<void> {
  const end = Date.now() + 20_000;
  while (!done()) {
    assert.ok(Date.now() < end, 'it took too long');
    await pause(20);
  }
}

/** What a broken network does to the sockets that listen. */
async function loseSubscribers(redis: RedisClient): Promise<void> {
  const clients = String(await redis.call('CLIENT', 'LIST', 'TYPE', 'pubsub')).split('\n');
  for (const client of clients.filter((line) => line.includes(`name=${namespace}:`))) {
    await redis.call('CLIENT', 'KILL', 'ID', /id=(\d+)/.exec(client)?.[1] ?? '');
  }
}

async function main(): Promise<void> {
  const first = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const second = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const displays = [first.get(StockDisplay), second.get(StockDisplay)];
  const pubsub = first.get(PubSubService);

  await pubsub.publish('stock', { product: 'lamp', left: 2 });
  await until(() => displays.every(({ left }) => left.get('lamp') === 2));
  console.log('both instances show the stock');

  await loseSubscribers(displays[0]!.redis);
  await until(() => displays.every(({ gaps }) => gaps.length > 0));
  assert.ok(displays.every(({ gaps }) => gaps[0]?.reason === 'disconnected'));
  console.log('both were told that they may have missed something');

  await pubsub.publish('stock', { product: 'lamp', left: 1 });
  await until(() => displays.every(({ left }) => left.get('lamp') === 1));
  console.log('and listen again');
  await Promise.all([first.close(), second.close()]);
}

void main();
