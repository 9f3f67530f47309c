// An entry with an optional peer: @nestjs/throttler with its counts in Redis.
import 'reflect-metadata';
import { strict as assert } from 'node:assert';
import { Controller, Get, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { RedisPatternsModule } from 'nestjs-redis-patterns';
import { AtomicThrottlerGuard, RedisThrottlerModule } from 'nestjs-redis-patterns/throttler';

@Controller()
class HelloController {
  @Get()
  hello(): string {
    return 'hello';
  }
}

@Module({
  imports: [
    RedisPatternsModule.forRoot({
      namespace: `consumer-throttler-${process.pid}`,
      connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379',
    }),
    RedisThrottlerModule.forRoot([{ ttl: 60_000, limit: 2 }]),
  ],
  controllers: [HelloController],
  providers: [{ provide: APP_GUARD, useClass: AtomicThrottlerGuard }],
})
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
  await app.listen(0, '127.0.0.1');
  const statuses: number[] = [];
  for (let n = 0; n < 3; n++) statuses.push((await fetch(await app.getUrl())).status);
  assert.deepEqual(statuses, [200, 200, 429]);
  await app.close();
}

void main();
