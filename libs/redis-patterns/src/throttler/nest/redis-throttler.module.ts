import { Inject, Injectable, Module, Optional, type DynamicModule, type FactoryProvider } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import {
  ThrottlerModule,
  ThrottlerStorageService,
  type ThrottlerAsyncOptions,
  type ThrottlerModuleOptions,
  type ThrottlerOptionsFactory,
} from '@nestjs/throttler';
import { InvalidOptionsError, NotBoundError } from '../../core/index.js';
import { patternParts } from '../../nest/pattern-parts.js';
import { PatternsApp } from '../../nest/patterns-app.js';
import { RateLimitService, type ResolvedRateLimitOptions } from '../../rate-limit/index.js';
import { RedisThrottlerStorage } from '../redis-throttler-storage.js';

const rateLimitPart = patternParts.find(({ option }) => option === 'rateLimit')!;

/** Injecting `RateLimitService` orders the two after each other, and has the boot check the connection of rate limits. */
@Injectable()
class StorageSource {
  constructor(
    @Optional() @Inject(RateLimitService) private readonly limits: RateLimitService | undefined,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
  ) {}

  /** @throws NotBoundError where there is nothing to connect with */
  create(): RedisThrottlerStorage {
    if (this.limits === undefined) {
      throw new NotBoundError(
        'RedisThrottlerModule has no connection: import RedisPatternsModule.forRoot() or forRootAsync() in the root module, ' +
          'and leave its isGlobal true.',
      );
    }
    const app = this.moduleRef.get(PatternsApp, { strict: false });
    const options = app.options.patterns.get(rateLimitPart) as ResolvedRateLimitOptions;
    return new RedisThrottlerStorage(app.engineContext(rateLimitPart), options, new ThrottlerStorageService());
  }
}

const storageProvider: FactoryProvider<RedisThrottlerStorage> = {
  provide: RedisThrottlerStorage,
  inject: [StorageSource],
  useFactory: (source: StorageSource) => source.create(),
};

/**
 * `@nestjs/throttler` with its counts in Redis: stands where `ThrottlerModule` stood and takes the same options. Guards, decorators and
 * options stay as they are. Connection, `deadline`, `onStoreError` and `localShare` are those of `rateLimit` in `RedisPatternsModule`.
 * Imported without `forRoot` it only provides {@link RedisThrottlerStorage}.
 *
 * @example
 * ```ts
 * @Module({
 *   imports: [
 *     RedisPatternsModule.forRoot({ namespace: 'shop', connection: 'redis://127.0.0.1:6379' }),
 *     RedisThrottlerModule.forRoot([{ ttl: 60_000, limit: 10 }]),
 *   ],
 *   providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
 * })
 * export class AppModule {}
 * ```
 */
@Module({ providers: [StorageSource, storageProvider], exports: [RedisThrottlerStorage] })
export class RedisThrottlerModule {
  /**
   * As `ThrottlerModule.forRoot`. A `storage` of yours fails the boot.
   */
  static forRoot(options: ThrottlerModuleOptions = []): DynamicModule {
    return RedisThrottlerModule.forRootAsync({ useFactory: () => options });
  }

  /**
   * As `ThrottlerModule.forRootAsync`, with `useFactory`, `useClass` or `useExisting`.
   */
  static forRootAsync({
    imports = [],
    inject = [],
    useFactory,
    useClass,
    useExisting,
  }: ThrottlerAsyncOptions): DynamicModule {
    return ThrottlerModule.forRootAsync({
      imports: [RedisThrottlerModule, ...imports],
      inject: [RedisThrottlerStorage, ModuleRef, ...(useFactory === undefined ? [] : (inject as unknown[]))],
      useFactory: async (storage: RedisThrottlerStorage, moduleRef: ModuleRef, ...args: unknown[]) => {
        if (useFactory !== undefined) return withStorage(await useFactory(...args), storage);
        const factory =
          useExisting === undefined
            ? await moduleRef.create<ThrottlerOptionsFactory>(useClass!)
            : moduleRef.get(useExisting, { strict: false });
        return withStorage(await factory.createThrottlerOptions(), storage);
      },
    });
  }
}

function withStorage(options: ThrottlerModuleOptions, storage: RedisThrottlerStorage): ThrottlerModuleOptions {
  if (Array.isArray(options)) return { throttlers: options, storage };
  if (options.storage === undefined) return { ...options, storage };
  const message = 'is given, but RedisThrottlerModule brings its own; leave it out, or use ThrottlerModule';
  throw new InvalidOptionsError('RedisThrottlerModule', [{ path: 'storage', message }]);
}
