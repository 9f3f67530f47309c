// Boots applications that are put together wrongly (and one that is not), and tells what each says.
import 'reflect-metadata';
import { Module, type DynamicModule, type Type } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ThrottlerModule, ThrottlerStorageService } from '@nestjs/throttler';
import { RedisPatternsModule, type RedisPatternsOptions } from 'nestjs-redis-patterns';
import { AtomicThrottlerGuard, RedisThrottlerModule } from 'nestjs-redis-patterns/throttler';

const { redis } = JSON.parse(process.env.SETUP!) as { redis: RedisPatternsOptions };
const throttlers = [{ ttl: 60_000, limit: 3 }];
const patterns = (): DynamicModule => RedisPatternsModule.forRoot(redis);
const guard = { provide: APP_GUARD, useClass: AtomicThrottlerGuard };

const setups: Record<string, (DynamicModule | Type)[]> = {
  'nothing wrong': [patterns(), RedisThrottlerModule.forRoot(throttlers)],
  'no RedisPatternsModule': [RedisThrottlerModule.forRoot(throttlers)],
  'a storage of its own': [
    patterns(),
    RedisThrottlerModule.forRoot({ throttlers, storage: new ThrottlerStorageService() }),
  ],
  'the atomic guard on memory': [patterns(), ThrottlerModule.forRoot(throttlers)],
  'one name twice': [patterns(), RedisThrottlerModule.forRoot([...throttlers, ...throttlers])],
  'a connection that is not there': [
    RedisPatternsModule.forRoot({ namespace: redis.namespace, connections: { other: redis.connection! } }),
    RedisThrottlerModule.forRoot(throttlers),
  ],
};

const said: Record<string, string> = {};
for (const [name, imports] of Object.entries(setups)) {
  @Module({ imports, providers: [guard] })
  class AppModule {}
  try {
    const app = await NestFactory.create(AppModule, { logger: false, abortOnError: false });
    try {
      await app.init();
    } finally {
      await app.close();
    }
    said[name] = 'nothing';
  } catch (error) {
    said[name] = String(error);
  }
}
process.send?.({ type: 'said', said });
process.disconnect();
