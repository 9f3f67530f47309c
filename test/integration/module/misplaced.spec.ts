import {
  Controller,
  Get,
  Injectable,
  Optional,
  Post,
  type DynamicModule,
  type Provider,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MessagePattern } from '@nestjs/microservices';
import request from 'supertest';
import type { App } from 'supertest/types.js';
import { describe, expect, it } from '@jest/globals';
import {
  Cacheable,
  CacheEvict,
  CachePut,
  CacheResponse,
  getRedisToken,
  Idempotent,
  InjectRedis,
  OnSubscriptionGap,
  RateLimit,
  RedisPatternsModule,
  RunOnce,
  SkipRateLimit,
  StreamConsumer,
  Subscribe,
  WithLock,
  type RedisClient,
} from 'nestjs-redis-patterns';
import { boot, type Classes } from '../rate-limit/boot-app.js';

type Decorate = (target: object, key?: string, descriptor?: PropertyDescriptor | number) => unknown;

const LIMIT = { limit: 2, window: '1m' } as const;
const DECORATORS: Record<string, unknown> = {
  '@Cacheable': Cacheable(),
  '@CachePut': CachePut({ key: () => ['k', 1] }),
  '@CacheEvict': CacheEvict({ tags: ['t'] }),
  '@CacheResponse': CacheResponse({ ttl: '1m', scope: 'public' }),
  '@RateLimit': RateLimit(LIMIT, { by: () => 'all' }),
  '@SkipRateLimit': SkipRateLimit(),
  '@WithLock': WithLock({ key: 'k' }),
  '@RunOnce': RunOnce({ name: 'n', per: '1m' }),
  '@Idempotent': Idempotent({ key: () => ['k', 1] }),
  '@StreamConsumer': StreamConsumer({ stream: 's', group: 'g' }),
  '@Subscribe': Subscribe('channel'),
  '@OnSubscriptionGap': OnSubscriptionGap('channel'),
};
/** Those are for classes, too. */
const OF_CLASSES = ['@RateLimit', '@SkipRateLimit'];

async function bootError(classes: Classes): Promise<string> {
  return boot(classes).then(
    (app) => app.close().then(() => 'it has started'),
    (error: Error) => error.message,
  );
}

describe.each(Object.entries(DECORATORS))('%s', (name, decorator) => {
  class Place {
    static run(): void {}
    get run(): string {
      return '';
    }
  }
  const descriptorOf = (target: object) => Object.getOwnPropertyDescriptor(target, 'run');

  it.each<[string, Parameters<Decorate>]>([
    ['an accessor', [Place.prototype, 'run', descriptorOf(Place.prototype)]],
    ['a property', [Place.prototype, 'run']],
    ['a static method', [Place, 'run', descriptorOf(Place)]],
    ['a parameter', [Place.prototype, 'run', 0]],
    ['a class', [Place]],
  ])('is refused on %s, by name', (what, place) => {
    const decorate = (): unknown => (decorator as Decorate)(...place);
    if (what === 'a class' && OF_CLASSES.includes(name)) return expect(decorate).not.toThrow();
    expect(decorate).toThrow(new RegExp(`${name} .*\\bPlace\\b`));
  });
});

describe('limits that would not be what they look like', () => {
  it('fail the boot: a class or method that handles nothing, several policies that have the name of the place', async () => {
    @Injectable()
    @SkipRateLimit('api')
    class Idle {}
    @Controller()
    class Handlers {
      @Get()
      @RateLimit(LIMIT)
      @RateLimit({ limit: 5, window: '1h' })
      list(): void {}
    }
    @Injectable()
    class Methods {
      @RateLimit([LIMIT, { limit: 5, window: '1h' }], { by: () => 'all' })
      async run(): Promise<void> {}
    }
    @Controller()
    class NoOptions {
      @Get()
      @RateLimit('apy', null as never)
      list(): void {}
    }
    @RateLimit(LIMIT)
    class Made {}
    @Controller()
    @RateLimit('api')
    class Messages {
      @MessagePattern('run')
      @RateLimit('user')
      run(): void {}

      @MessagePattern('tenant')
      @SkipRateLimit('api')
      @RateLimit('closed', { by: (context) => context.getType() })
      tenant(): void {}
    }
    expect(await bootError({ providers: [Idle] })).toMatch(/Idle with @SkipRateLimit:\n {2}- has no effect: the class/);
    for (const made of [{ useFactory: () => new Made() }, { useValue: new Made() }])
      expect(await bootError({ providers: [{ provide: 'made', ...made }] })).toMatch(
        /Made with @RateLimit:\n.*nothing would/,
      );
    const unknown = ["policy 'user': counts by 'user'", "policy 'api': counts by 'ip'"];
    for (const words of unknown)
      expect(await bootError({ controllers: [Messages] })).toContain(`  - ${words}, but a message has`);
    const once =
      /^[^\n]*Handlers\.list with @RateLimit:\n {2}- policies: only one can be without a name; [^\n]*definePolicy[^\n]*$/;
    expect(await bootError({ controllers: [Handlers] })).toMatch(once);
    expect(await bootError({ providers: [Methods] })).toMatch(
      /Methods\.run with @RateLimit:\n {2}- policies: only one/,
    );
    expect(await bootError({ controllers: [NoOptions] })).toMatch(/policy 'apy': is not defined/);
  });

  it('are those of both: two skips on one handler', async () => {
    @Controller()
    @RateLimit(['closed', 'user'])
    class Skips {
      @Get()
      @SkipRateLimit('closed')
      @SkipRateLimit('user')
      list(): string {
        return 'listed';
      }
    }
    const app = await boot({ controllers: [Skips] });
    // Without Redis a closed policy that is not left out would be a 503.
    expect(await request(app.getHttpServer() as App).get('/')).toMatchObject({ status: 200, text: 'listed' });
    await app.close();
  });
});

it('lets a class override a handler and call it by super, synchronous or not, without its decorators', async () => {
  class Base {
    @Get('list')
    @RateLimit('closed')
    list(): string {
      return 'base';
    }

    @Get('cached')
    @CacheResponse({ ttl: '1m', scope: 'public' })
    cached(): string {
      return 'base';
    }

    @Post('place')
    @Idempotent()
    place(): string {
      return 'base';
    }

    @MessagePattern('run')
    @RateLimit('closed', { by: (context) => context.getType() })
    run(): string {
      return 'base';
    }
  }
  @Controller()
  class Own extends Base {
    @Get('list')
    override list(): string {
      return `own ${super.list()}`;
    }

    @Get('cached')
    override cached(): string {
      return `own ${super.cached()}`;
    }

    @Post('place')
    override place(): string {
      return `own ${super.place()}`;
    }

    override run(): string {
      return `own ${super.run()}`;
    }
  }
  const app = await boot({ controllers: [Own] });
  const server = app.getHttpServer() as App;
  for (const answer of [request(server).get('/list'), request(server).get('/cached'), request(server).post('/place')]) {
    expect((await answer).text).toBe('own base');
  }
  expect(app.get(Own).run()).toBe('own base');
  await app.close();
});

describe('a boot that would hand out nothing', () => {
  const options = { namespace: 'shop', connections: { cache: 'redis://127.0.0.1:1' } };
  const start = (imports: (DynamicModule | Type)[], ...providers: Provider[]) =>
    NestFactory.createApplicationContext(
      { module: class Root {}, imports, providers },
      {
        logger: false,
        abortOnError: false,
      },
    );

  it('fails when the module is imported without options', async () => {
    await expect(start([RedisPatternsModule])).rejects.toThrow(/RedisPatternsModule:\n.*without options.*forRoot\(\)/);
  });

  it('fails when a client is injected, or announced, of which there is no connection', async () => {
    @Injectable()
    class Reports {
      constructor(@InjectRedis() readonly redis: RedisClient) {}
    }
    @Injectable()
    class Maybe {
      constructor(@Optional() @InjectRedis() readonly redis?: RedisClient) {}
    }
    const factory = { provide: 'factory', inject: [getRedisToken()], useFactory: () => 1 };
    const module = RedisPatternsModule.forRoot(options);
    await expect(start([module], Reports)).rejects.toThrow(/connection: is needed by Reports.* \('cache'\)/);
    await expect(start([module], factory)).rejects.toThrow(/connection: is needed by factory/);
    const announced = RedisPatternsModule.forRootAsync({ connectionNames: ['cach'], useFactory: () => options });
    await expect(start([announced])).rejects.toThrow(/connections\.cach: no such connection; did you mean 'cache'/);
    const background = {
      namespace: 'shop',
      connections: { cache: { url: 'redis://127.0.0.1:1', startup: 'background' as const } },
    };
    const application = await start([RedisPatternsModule.forRoot(background)], Maybe);
    expect(application.get(Maybe).redis).toBeUndefined();
    await application.close();
  });
});
