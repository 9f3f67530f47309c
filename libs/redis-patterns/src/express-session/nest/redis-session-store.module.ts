import { Inject, Injectable, Module, Optional, type DynamicModule } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { NotBoundError } from '../../core/index.js';
import { patternParts } from '../../nest/pattern-parts.js';
import { PatternsApp } from '../../nest/patterns-app.js';
import { ForeignSessions, SessionService } from '../../session/index.js';
import { RedisSessionStore, type RedisSessionStoreOptions } from '../redis-session-store.js';

const sessionPart = patternParts.find(({ option }) => option === 'session')!;
const OPTIONS = Symbol('nestjs-redis-patterns:session-store-options');

/** Injecting `SessionService` orders the two after each other, and has the boot check the connection of sessions. */
@Injectable()
class StoreSource {
  constructor(
    @Optional() @Inject(SessionService) private readonly sessions: SessionService | undefined,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
  ) {}

  /** @throws NotBoundError where there is nothing to connect with */
  create(options: RedisSessionStoreOptions): RedisSessionStore {
    if (this.sessions === undefined) {
      throw new NotBoundError(
        'RedisSessionStoreModule has no connection: import RedisPatternsModule.forRoot() or forRootAsync() in the root module, ' +
          'and leave its isGlobal true.',
      );
    }
    const context = this.moduleRef.get(PatternsApp, { strict: false }).engineContext(sessionPart);
    return new RedisSessionStore(new ForeignSessions(context, this.sessions.options), options);
  }
}

/**
 * Gives {@link RedisSessionStore}. Connection, `idle`, `absolute`, `maxBytes` and `maxPerPrincipal` are those of `session` in
 * `RedisPatternsModule`.
 *
 * @example
 * ```ts
 * @Module({
 *   imports: [
 *     RedisPatternsModule.forRoot({ namespace: 'shop', connection: 'redis://127.0.0.1:6379' }),
 *     RedisSessionStoreModule.forRoot({ principal: (session) => session.userId as string | undefined }),
 *   ],
 * })
 * export class AppModule {}
 * ```
 */
@Module({})
export class RedisSessionStoreModule {
  /** @param options `principal` tells whose a session is */
  static forRoot(options: RedisSessionStoreOptions = {}): DynamicModule {
    return {
      module: RedisSessionStoreModule,
      providers: [
        { provide: OPTIONS, useValue: options },
        StoreSource,
        {
          provide: RedisSessionStore,
          inject: [StoreSource, OPTIONS],
          useFactory: (source: StoreSource, given: RedisSessionStoreOptions) => source.create(given),
        },
      ],
      exports: [RedisSessionStore],
    };
  }
}
