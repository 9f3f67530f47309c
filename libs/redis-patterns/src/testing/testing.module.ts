import { Module, type DynamicModule } from '@nestjs/common';
import type { TestingModuleBuilder } from '@nestjs/testing';
import { ConnectionSource } from '../nest/connection-source.js';
import { RedisPatternsModule } from '../nest/redis-patterns.module.js';
import type { RedisPatternsOptions } from '../nest/redis-patterns.options.js';
import { InMemoryRedis } from './in-memory-redis.js';

/** Options of the module under test; connections are not needed, as all of them lead to one Redis in memory. */
export type RedisPatternsTestingOptions = Partial<RedisPatternsOptions>;

const NOWHERE = 'redis://in-memory.invalid';

/**
 * The module for unit tests: the services and decorators with a Redis in the memory of this process. The engines, their scripts and
 * their errors are the real ones. One process, one server: what several processes do to each other, failovers and the cost of
 * commands are for {@link startTestRedis}.
 *
 * @example
 * ```ts
 * const app = await Test.createTestingModule({
 *   imports: [RedisPatternsTestingModule.forRoot()],
 *   providers: [ProductService],
 * }).compile();
 * await app.init();
 * ```
 */
@Module({})
export class RedisPatternsTestingModule {
  /** @param options as for `RedisPatternsModule.forRoot`; `namespace` is `'test'` by default */
  static forRoot(options: RedisPatternsTestingOptions = {}): DynamicModule {
    const connection = options.connections?.default === undefined ? { connection: NOWHERE } : {};
    const real = RedisPatternsModule.forRoot({ namespace: 'test', ...connection, ...options });
    return {
      ...real,
      module: RedisPatternsTestingModule,
      providers: [...(real.providers ?? []), InMemoryRedis, { provide: ConnectionSource, useExisting: InMemoryRedis }],
      exports: [...(real.exports ?? []), InMemoryRedis],
    };
  }
}

/**
 * Puts a Redis in memory under a whole application, whose own module imports `RedisPatternsModule`.
 *
 * @returns the same builder, and what stands for Redis
 *
 * @example
 * ```ts
 * const { builder, redis } = withInMemoryRedis(Test.createTestingModule({ imports: [AppModule] }));
 * const app = (await builder.compile()).createNestApplication();
 * ```
 */
export function withInMemoryRedis(builder: TestingModuleBuilder): {
  builder: TestingModuleBuilder;
  redis: InMemoryRedis;
} {
  const redis = new InMemoryRedis();
  return { builder: builder.overrideProvider(ConnectionSource).useValue(redis), redis };
}
