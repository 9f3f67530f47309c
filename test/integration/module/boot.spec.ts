import {
  Controller,
  Get,
  Injectable,
  Logger,
  Module,
  UseGuards,
  type CanActivate,
  type INestApplicationContext,
  type MiddlewareConsumer,
  type NestMiddleware,
  type NestModule,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  CacheService,
  getRedisToken,
  LockService,
  RedisConnections,
  RedisPatternsModule,
  WithLock,
  type RedisClient,
  type RedisPatternsOptions,
} from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology, sharedTopology, startOwn, uniqueNamespace } from '../../support/topologies.js';

const SECRET = 'hunter2';
const applications: INestApplicationContext[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(applications.splice(0).map((application) => application.close()));
});

async function boot(options: unknown): Promise<INestApplicationContext> {
  const module = RedisPatternsModule.forRoot(options as RedisPatternsOptions);
  const application = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
  applications.push(application);
  return application;
}

async function bootFailure(options: unknown): Promise<Error> {
  return boot(options).then(
    () => {
      throw new Error('expected the boot to fail');
    },
    (error: Error) => error,
  );
}

/** Nothing listens there. */
const NOBODY = 'redis://127.0.0.1:1';

describe('a boot with options that cannot work', () => {
  it.each([
    ['no options', undefined, 'namespace'],
    ['a URL in place of options', NOBODY, 'namespace'],
    ['no namespace', { connection: NOBODY }, 'namespace'],
    ['an empty namespace', { namespace: '', connection: NOBODY }, 'namespace'],
    ['no connection', { namespace: 'shop' }, 'connection'],
    ['a URL from a variable that is not set', { namespace: 'shop', connection: { url: undefined } }, 'is undefined'],
    ['a password that is none', { namespace: 'shop', connection: { password: 5 } }, 'must be a text, or a function'],
    ['a wrong URL', { namespace: 'shop', connection: `http://u:${SECRET}@h` }, 'connection.url'],
    [
      'an unknown option',
      { namespace: 'shop', connection: NOBODY, cahce: {} },
      "cahce: unknown option; did you mean 'cache'?",
    ],
    ['an unknown option of a pattern', { namespace: 'shop', connection: NOBODY, lock: { leese: 1 } }, 'lock.leese'],
    [
      'an unknown connection',
      { namespace: 'shop', connections: { cache: NOBODY }, cache: { connection: 'cach' } },
      "did you mean 'cache'?",
    ],
    [
      'a pattern without a connection',
      { namespace: 'shop', connections: { cache: NOBODY }, lock: {} },
      'lock.connection',
    ],
  ])('fails on %s, by name and without the secret', async (_title, options, words) => {
    const error = await bootFailure(options);
    expect(error).toMatchObject({ code: 'ERR_INVALID_OPTIONS' });
    expect(error.message).toContain(words);
    expect(error.message).not.toContain(SECRET);
  });

  it('fails when the module is registered twice', async () => {
    const options = { namespace: 'shop', connection: NOBODY };
    @Module({
      imports: [
        RedisPatternsModule.forRoot({ ...options }),
        RedisPatternsModule.forRoot({ ...options, namespace: 'other' }),
      ],
    })
    class Root {}
    const booting = NestFactory.createApplicationContext(Root, { logger: false, abortOnError: false });
    await expect(booting).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTIONS',
      message: expect.stringContaining('registered twice'),
    });
  });

  it('fails with all that is wrong, in whichever part', async () => {
    const connections = { cache: { port: 'many' }, durable: NOBODY };
    const options = { namespace: 'shop', connections, cache: { ttl: 'never' }, lock: { lease: 5 } } as never;
    @Module({ imports: [RedisPatternsModule.forRoot(options)] })
    class Root {}
    const booting = NestFactory.createApplicationContext(Root, { logger: false, abortOnError: false });
    const issues = ['connections.cache.port', 'cache.ttl', 'lock.lease'].map((path) =>
      expect.objectContaining({ path }),
    );
    await expect(booting).rejects.toMatchObject({ code: 'ERR_INVALID_OPTIONS', issues });
  });

  it('fails when a decorated method uses a pattern without a connection', async () => {
    @Injectable()
    class Stock {
      @WithLock({ key: 'stock' })
      async take(): Promise<void> {}
    }
    @Module({
      imports: [RedisPatternsModule.forRoot({ namespace: 'shop', connections: { cache: NOBODY } })],
      providers: [Stock],
    })
    class Root {}
    const booting = NestFactory.createApplicationContext(Root, { logger: false, abortOnError: false });
    await expect(booting).rejects.toMatchObject({ message: expect.stringContaining('lock.connection') });
  });

  it('fails when a guard, an interceptor or middleware uses a pattern without a connection', async () => {
    @Injectable()
    class OneAtATime implements CanActivate, NestMiddleware {
      constructor(readonly locks: LockService) {}

      canActivate(): boolean {
        return true;
      }

      use(_request: unknown, _response: unknown, next: () => void): void {
        next();
      }
    }
    @Controller()
    class Plain {}
    @UseGuards(OneAtATime)
    @Controller()
    class Guarded {
      @Get()
      get(): void {}
    }
    const imports = [RedisPatternsModule.forRoot({ namespace: 'shop', connections: { cache: NOBODY } })];
    @Module({ imports, controllers: [Guarded] })
    class WithGuard {}
    @Module({ imports, controllers: [Plain] })
    class WithMiddleware implements NestModule {
      configure(consumer: MiddlewareConsumer): void {
        consumer.apply(OneAtATime).forRoutes(Plain);
      }
    }
    for (const root of [WithGuard, WithMiddleware]) {
      const application = await NestFactory.create(root, { logger: false, abortOnError: false });
      applications.push(application);
      await expect(application.init()).rejects.toMatchObject({ message: expect.stringContaining('lock.connection') });
    }
  });
});

describe('a boot without a Redis', () => {
  it('fails with startup fail-fast, and names the option', async () => {
    const error = await bootFailure({ namespace: 'shop', connection: { url: NOBODY, startup: 'fail-fast' } });
    expect(error).toMatchObject({ code: 'ERR_REDIS_CONNECT' });
    expect(error.message).toMatch(/ECONNREFUSED.*'url'/s);
  });

  it('goes on with startup wait, after one warning, and then calls fail fast', async () => {
    const warnings = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const began = performance.now();
    const application = await boot({ namespace: 'shop', connection: NOBODY });
    expect(performance.now() - began).toBeLessThan(7000);
    const told = warnings.mock.calls
      .map(([message]) => String(message))
      .filter((text) => text.includes('starts without it'));
    expect(told).toHaveLength(1);
    const asked = performance.now();
    await expect(application.get(CacheService).set('a', 1)).rejects.toMatchObject({
      code: 'ERR_REDIS_NOT_READY',
      outcome: 'not-sent',
    });
    expect(performance.now() - asked).toBeLessThan(200);
  }, 15_000);
});

describe('a boot with wrong credentials', () => {
  it.each(['standalone', 'sentinel', 'cluster'] as const)('fails at once on %s, without the secret', async (mode) => {
    const topology = await startOwn(mode, { acl: true });
    try {
      const began = performance.now();
      const error = await bootFailure({ namespace: 'shop', connection: { ...topology.connection, password: SECRET } });
      expect(performance.now() - began).toBeLessThan(4000);
      expect(error).toMatchObject({
        code: 'ERR_REDIS_CONNECT',
        message: expect.stringMatching(/WRONGPASS.*'password'/s),
      });
      expect(error.message).not.toContain(SECRET);
    } finally {
      await topology.stop();
    }
  });
});

describe('a boot on another topology than configured', () => {
  it('fails and names the mode to use', async () => {
    const [clusterNode] = sharedTopology('cluster').nodes;
    const single = await bootFailure({
      namespace: 'shop',
      connection: { host: clusterNode!.host, port: clusterNode!.port },
    });
    expect(single.message).toContain("mode 'cluster'");
    const [server] = sharedTopology('standalone').nodes;
    const cluster = await bootFailure({
      namespace: 'shop',
      connection: { mode: 'cluster', nodes: [{ host: server!.host, port: server!.port }] },
    });
    expect(cluster.message).toContain("mode 'standalone'");
  });
});

describeOnEachTopology('an application', (topology) => {
  it('opens its connections before the hooks of others, and closes them after', async () => {
    const seen: string[] = [];
    @Injectable()
    class Early {
      constructor(private readonly locks: LockService) {}
      async onModuleInit(): Promise<void> {
        await this.locks.using('early', {}, () => seen.push('init'));
      }
      async onApplicationShutdown(): Promise<void> {
        seen.push('shutdown');
      }
    }
    const { connection, url, namespace } = topology;
    @Module({ imports: [RedisPatternsModule.forRoot({ namespace, connection })], providers: [Early] })
    class Root {}
    const application = await NestFactory.createApplicationContext(Root, { logger: false, abortOnError: false });
    expect(await application.get<RedisClient>(getRedisToken()).ping()).toBe('PONG');
    expect(application.get(RedisConnections).stats()).toMatchObject({ mode: topology.mode, status: 'ready' });
    expect(url).toMatch(/^redis/);
    await application.close();
    expect(seen).toEqual(['init', 'shutdown']);
    await eventually(async () => {
      const clients = await Promise.all(
        topology.admin.masters().map((master) => master.client('LIST') as Promise<string>),
      );
      expect(clients.join('')).not.toContain(`name=${namespace}:`);
    });
  });

  it('takes a URL, also from a factory that is asynchronous', async () => {
    const module = RedisPatternsModule.forRootAsync({
      useFactory: async () => ({ namespace: uniqueNamespace(), connection: topology.url }),
    });
    const application = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
    applications.push(application);
    expect(await application.get(CacheService).getOrSet('k', () => Promise.resolve(42))).toBe(42);
  });
});
