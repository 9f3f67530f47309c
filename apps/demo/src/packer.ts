// A second process that packs orders, so slowly that whoever has started it can kill it in the middle of one.
import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RedisPatternsModule, StreamRuntime } from 'nestjs-redis-patterns';
import { packing } from './fulfilment/fulfilment.consumer.js';
import { connection } from './redis/connection.js';

/** Milliseconds that it packs one order. */
const SLOWNESS = 60_000;

@Module({ imports: [RedisPatternsModule.forRoot({ namespace: 'shop', connection: connection() })] })
class PackerModule {}

// Nobody is left to kill it.
process.once('disconnect', () => process.exit());

const app = await NestFactory.createApplicationContext(PackerModule, { logger: ['error', 'warn'] });
const consumption = app.get(StreamRuntime).consume({ ...packing, concurrency: 1 }, async ({ orderId }) => {
  process.send?.({ packing: orderId });
  await delay(SLOWNESS);
});
consumption.start();
await consumption.ready;
process.send?.({ ready: true });
