// A small application on @nestjs/throttler, which is built and run as its own process: with the counts in memory, in Redis, or in Redis
// behind the atomic guard. Its throttlers and routes use what the documentation of @nestjs/throttler promises.
import 'reflect-metadata';
import { Controller, Get, Module, UseGuards, type ExecutionContext } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import {
  minutes,
  seconds,
  SkipThrottle,
  Throttle,
  ThrottlerGuard,
  ThrottlerModule,
  type ThrottlerModuleOptions,
} from '@nestjs/throttler';
import { RedisPatternsModule, type RedisPatternsOptions } from 'nestjs-redis-patterns';
import { AtomicThrottlerGuard, RedisThrottlerModule } from 'nestjs-redis-patterns/throttler';
import type { AddressInfo } from 'node:net';

export type AppKind = 'memory' | 'redis' | 'atomic';

interface Setup {
  readonly kind: AppKind;
  readonly redis?: RedisPatternsOptions;
}

interface Request {
  readonly headers: Readonly<Record<string, string | undefined>>;
}

const { kind, redis } = JSON.parse(process.env.SETUP!) as Setup;
const header = (context: ExecutionContext, name: string): string | undefined =>
  context.switchToHttp().getRequest<Request>().headers[name];

const Guard = kind === 'atomic' ? AtomicThrottlerGuard : ThrottlerGuard;
const ONLY_DEFAULT = { short: true, long: true, slow: true, resolved: true };
const ALL = { ...ONLY_DEFAULT, default: true };

const options: ThrottlerModuleOptions = {
  throttlers: [
    { ttl: minutes(1), limit: 3 },
    { name: 'short', ttl: seconds(30), limit: 4 },
    { name: 'long', ttl: minutes(5), limit: 2, setHeaders: true },
    // As no types allow, and as people write it.
    {
      name: 'slow',
      ttl: minutes(5),
      limit: 1,
      skipIf: (async (context: ExecutionContext) =>
        Promise.resolve(header(context, 'x-skip') === 'yes')) as unknown as () => boolean,
    },
    {
      name: 'resolved',
      ttl: async () => Promise.resolve(minutes(1)),
      limit: (context) => Number(header(context, 'x-limit')),
    },
  ],
  skipIf: (context) => header(context, 'x-internal') === 'yes',
  ignoreUserAgents: [/health-check/i],
  errorMessage: (_context, { limit, totalHits, isBlocked }) => `${totalHits} of ${limit}, blocked: ${isBlocked}`,
};

/** One count for all handlers and clients, and for all guards: its own guards each make other keys. */
const byTenant = (context: ExecutionContext): string => `tenant ${header(context, 'x-tenant')}`;

@SkipThrottle(ONLY_DEFAULT)
@Controller('default')
class DefaultController {
  @Get('plain')
  plain() {
    return 'plain';
  }

  @Get('other')
  other() {
    return 'other';
  }

  @Throttle({ default: { limit: 1 } })
  @Get('lowered')
  lowered() {
    return 'lowered';
  }

  @Throttle({ default: { limit: 2, blockDuration: seconds(3) } })
  @Get('block')
  block() {
    return 'block';
  }

  @Throttle({ default: { limit: 2, ttl: seconds(3), blockDuration: 0 } })
  @Get('no-block')
  noBlock() {
    return 'no-block';
  }

  @Throttle({ default: { getTracker: (req) => String((req as Request).headers['x-user']) } })
  @Get('tracker')
  tracker() {
    return 'tracker';
  }

  @Throttle({ default: { generateKey: byTenant } })
  @Get('key-1')
  key1() {
    return 'key-1';
  }

  @Throttle({ default: { generateKey: byTenant } })
  @Get('key-2')
  key2() {
    return 'key-2';
  }
}

@SkipThrottle(ALL)
@Controller('skipped')
class SkippedController {
  @Get('free')
  free() {
    return 'free';
  }

  @SkipThrottle({ default: false })
  @Get('limited')
  limited() {
    return 'limited';
  }
}

@Controller('named')
class NamedController {
  @SkipThrottle({ default: true, slow: true, resolved: true })
  @Get('two')
  two() {
    return 'two';
  }

  @SkipThrottle({ ...ALL, slow: false })
  @Get('slow')
  slow() {
    return 'slow';
  }

  @SkipThrottle({ ...ALL, resolved: false })
  @Get('resolved')
  resolved() {
    return 'resolved';
  }

  // Two keys: the limits of the request are in different places.
  @SkipThrottle({ default: true, slow: true, resolved: true })
  @Throttle({ short: { getTracker: () => 'one' }, long: { getTracker: () => 'another' } })
  @Get('apart')
  apart() {
    return 'apart';
  }
}

/** Guarded twice, by itself with a guard in another module than the throttlers: counted twice. */
@SkipThrottle(ALL)
@UseGuards(Guard)
@Controller('by-itself')
class GuardedController {
  @SkipThrottle({ default: false })
  @Throttle({ default: { limit: 4 } })
  @Get()
  get() {
    return 'by-itself';
  }
}

@Module({ controllers: [GuardedController] })
class GuardedModule {}

class OptionsFactory {
  createThrottlerOptions(): ThrottlerModuleOptions {
    return options;
  }
}

// The line that differs.
const throttling = {
  memory: () => ThrottlerModule.forRoot(options),
  redis: () => RedisThrottlerModule.forRoot(options),
  atomic: () => RedisThrottlerModule.forRootAsync({ useClass: OptionsFactory }),
}[kind]();

@Module({
  imports: [...(redis === undefined ? [] : [RedisPatternsModule.forRoot(redis)]), throttling, GuardedModule],
  controllers: [DefaultController, SkippedController, NamedController],
  providers: [{ provide: APP_GUARD, useClass: Guard }],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
app.enableShutdownHooks();
await app.listen(0, '127.0.0.1');
const { port } = app.getHttpServer().address() as AddressInfo;
process.send?.({ type: 'ready', port });
