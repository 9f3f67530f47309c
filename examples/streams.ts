// A stream: each group gets every message, a handler that fails runs again, and what never works becomes a dead letter.
import 'reflect-metadata';
import { strict as assert } from 'node:assert';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  defineStream,
  MessageBody,
  MessageContext,
  MessageHeader,
  RedisPatternsModule,
  StreamAdmin,
  StreamConsumer,
  StreamContext,
  StreamProducer,
} from 'nestjs-redis-patterns';

interface OrderEvents {
  placed: { orderId: string };
}
const orders = defineStream<OrderEvents>({ name: 'orders' });
const quickly = { attempts: 3, backoff: { base: '10ms', max: '20ms' } } as const;

@Injectable()
class Billing {
  readonly billed: string[] = [];

  @StreamConsumer({ stream: orders, group: 'billing', type: 'placed', retry: quickly })
  async bill(@MessageBody() order: { orderId: string }, @MessageContext() context: StreamContext): Promise<void> {
    if (order.orderId === 'poison') throw new Error('cannot be billed');
    // The first attempt fails, as a bank does now and then.
    if (context.attempt === 1) throw new Error('the bank does not answer');
    this.billed.push(order.orderId);
  }
}

@Injectable()
class Shipping {
  readonly shipped: string[] = [];

  @StreamConsumer({ stream: orders, group: 'shipping', type: 'placed' })
  async ship(@MessageBody('orderId') orderId: string, @MessageHeader('tenant') tenant: string): Promise<void> {
    this.shipped.push(`${tenant}/${orderId}`);
  }
}

@Module({
  imports: [
    RedisPatternsModule.forRoot({
      namespace: `example-streams-${process.pid}`,
      connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379',
    }),
  ],
  providers: [Billing, Shipping],
})
class AppModule {}

async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 20_000;
  while (!(await done())) {
    assert.ok(Date.now() < end, 'it took too long');
    await pause(20);
  }
}

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const producer = app.get(StreamProducer);
  for (const orderId of ['1', '2', 'poison']) {
    await producer.publish(orders, { orderId }, { type: 'placed', headers: { tenant: 'acme' } });
  }

  const { shipped } = app.get(Shipping);
  await until(() => shipped.length === 3);
  console.log('shipping got', shipped.join(', '));

  const { billed } = app.get(Billing);
  await until(() => billed.length === 2);
  console.log('billing got', billed.join(', '), 'in their second attempt');

  const letters = app.get(StreamAdmin).deadLetters('orders', 'billing');
  await until(async () => (await letters.list({ limit: 10 })).length === 1);
  console.log('what could not be billed in three attempts is a dead letter');
  await app.close();
}

void main();
