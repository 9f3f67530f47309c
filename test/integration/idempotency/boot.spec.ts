import {
  Controller,
  Get,
  Module,
  Next,
  Post,
  Res,
  Sse,
  type CallHandler,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
  type Type,
} from '@nestjs/common';
import { APP_INTERCEPTOR, ApplicationConfig } from '@nestjs/core';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { MessagePattern } from '@nestjs/microservices';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Idempotent, RateLimitService, RedisPatternsModule } from 'nestjs-redis-patterns';
import type { Observable } from 'rxjs';
import { eventually } from '../../support/eventually.js';
import { describeOn, startOwn, type SharedTopology } from '../../support/topologies.js';
import { openHttpApp } from './http-app.js';

const cleanUps: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

/** A class whose one method `act` is decorated by these, as if they stood above it. */
function controller(parameters: ParameterDecorator[], ...decorators: MethodDecorator[]): Type {
  @Controller('things')
  class Things {
    act(..._args: unknown[]): object {
      return {};
    }
  }
  parameters.forEach((decorate, index) => decorate(Things.prototype, 'act', index));
  for (const decorate of decorators.toReversed()) {
    const descriptor = Object.getOwnPropertyDescriptor(Things.prototype, 'act')!;
    decorate(Things.prototype, 'act', descriptor);
    Object.defineProperty(Things.prototype, 'act', descriptor);
  }
  return Things;
}

class Passing implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle();
  }
}

async function build(
  topology: SharedTopology,
  controllers: Type[],
  { isGlobal = true, limits }: { isGlobal?: boolean; limits?: object } = {},
): Promise<INestApplication> {
  const { namespace, connection } = topology;

  @Module({
    imports: [RedisPatternsModule.forRoot({ namespace, connection: connection as never, isGlobal })],
    providers: [{ provide: APP_INTERCEPTOR, useClass: Passing }],
    controllers: isGlobal ? controllers : [],
  })
  class AppModule {}

  @Module({ controllers: isGlobal ? [] : controllers })
  class Apart {}

  const builder = Test.createTestingModule({ imports: [AppModule, Apart] });
  if (limits !== undefined) builder.overrideProvider(RateLimitService).useValue(limits);
  const built = await builder.compile();
  const app = built.createNestApplication({ logger: false });
  app.useGlobalInterceptors(new Passing());
  cleanUps.push(() => app.close());
  return app;
}

describeOn('standalone', 'the boot with @Idempotent', { user: 'idempotency' }, (topology) => {
  const boot = async (...controllers: Type[]): Promise<INestApplication> => (await build(topology, controllers)).init();
  const onMethod = (options?: object): MethodDecorator => Idempotent(options as never) as MethodDecorator;

  it('is refused twice on a method when its class is defined', () => {
    const twice = (...key: object[]) => controller([], ...key.map((one) => onMethod(one)));
    const message = /@Idempotent stands twice on Things\.act, .*Leave one of them out/;
    expect(() => twice({ key: () => 'a' }, { key: () => 'b' })).toThrow(message);
    expect(() => controller([], Post(), onMethod(), onMethod())).toThrow(message);
    expect(() => twice({ key: () => 'a' })).not.toThrow();
  });

  it.each<[string, Type, RegExp]>([
    ['@Res()', controller([Res()], Post(), onMethod()), /Things.act:\n.*@Res\({ passthrough: true }\)/],
    ['@Next()', controller([Next()], Post(), onMethod()), /passthrough/],
    ['@Sse()', controller([], Sse('x'), onMethod()), /sends events/],
    [
      'messages',
      controller([], MessagePattern('x'), onMethod()),
      /answers no HTTP requests; put @Idempotent with 'key'/,
    ],
    [
      'messages with a key',
      controller([], MessagePattern('x'), onMethod({ key: () => 'x' })),
      /answers no HTTP requests; put @Idempotent with 'key'/,
    ],
    [
      'key on a handler',
      controller([], Post(), onMethod({ key: () => 'x' })),
      /key: is for methods that answer no HTTP/,
    ],
    ['no key elsewhere', controller([], onMethod()), /key: must be a function of the arguments/],
    ['unknown options', controller([], Post(), onMethod({ tll: '1h' })), /tll.*did you mean 'ttl'/],
    ['no header', controller([], Post(), onMethod({ header: 'a b' })), /header: must be the name of a header/],
    [
      'a lost mark',
      controller(
        [],
        Post(),
        (_target, _key, descriptor: PropertyDescriptor) => void (descriptor.value = () => 1),
        onMethod(),
      ),
      /its mark is lost/,
    ],
  ])('fails for what could not work: %s', async (_what, type, message) => {
    await expect(boot(type)).rejects.toThrow(message);
  });

  it('takes @Res({ passthrough: true })', async () => {
    await boot(controller([Res({ passthrough: true })], Post(), onMethod()));
  });

  it('puts an interceptor before all others, if some handler is marked', async () => {
    const names = (app: INestApplication): string[] =>
      app
        .get(ApplicationConfig)
        .getGlobalInterceptors()
        .map((each) => each.constructor.name);
    expect(names(await boot(controller([], Get())))).toEqual(['Passing', 'Passing']);
    expect(names(await boot(controller([], Get(), onMethod())))).toEqual([
      'IdempotencyInterceptor',
      'Passing',
      'Passing',
    ]);
  });

  it('never runs a handler unprotected where the module is not imported', async () => {
    let runs = 0;
    const counted = controller([], Post(), onMethod(), (_target, _key, descriptor: PropertyDescriptor) => {
      descriptor.value = () => (runs += 1);
    });
    const apart = await build(topology, [counted], { isGlobal: false });
    const without = (await Test.createTestingModule({ controllers: [counted] }).compile()).createNestApplication({
      logger: false,
    });
    cleanUps.push(() => without.close());
    for (const app of [apart, without]) {
      await app.listen(0, '127.0.0.1');
      const url = `${await app.getUrl()}/things`;
      expect((await fetch(url, { method: 'POST', headers: { 'idempotency-key': 'k' } })).status).toBe(500);
    }
    expect(runs).toBe(0);
  });

  it('replays whatever a test has put in the place of the limits', async () => {
    const app = await build(topology, [controller([], Post(), onMethod())], { limits: {} });
    await app.listen(0, '127.0.0.1');
    const init = { method: 'POST', headers: { 'idempotency-key': 'replaced' } };
    const replayed = [];
    for (let call = 1; call <= 2; call++) {
      const { status, headers } = await fetch(`${await app.getUrl()}/things`, init);
      replayed.push([status, headers.get('idempotent-replayed')]);
    }
    expect(replayed).toEqual([
      [201, null],
      [201, 'true'],
    ]);
  });
});

describe.each([
  ['Express', () => new ExpressAdapter() as AbstractHttpAdapter],
  ['Fastify', () => new FastifyAdapter() as unknown as AbstractHttpAdapter],
])('idempotent handlers of %s without Redis', (_name, newAdapter) => {
  it('answer 503 and do not run, or run by choice; answers that are due go out', async () => {
    const own = await startOwn('standalone', { user: 'idempotency' });
    cleanUps.push(() => own.stop());
    const app = await openHttpApp(newAdapter(), {
      namespace: 'shop',
      connection: { ...own.connection, commandTimeout: 500 },
    });
    cleanUps.push(() => app.app.close());
    const key = { 'idempotency-key': 'k' };
    let open = (): void => undefined;
    app.journal.gate = new Promise((resolve) => (open = resolve));
    const running = app.post('/shop/text', key);
    await eventually(() => app.journal.calls.length === 1);
    await own.kill(await own.primary());
    open();
    expect(await running).toMatchObject({ status: 201, text: 'text 1' });
    const refused = await app.post('/shop/text', key);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(JSON.parse(refused.text)).toMatchObject({
      title: 'Service Unavailable',
      code: 'ERR_IDEMPOTENCY_UNAVAILABLE',
    });
    expect(await app.post('/shop/open', key)).toMatchObject({ status: 201, text: '[2]' });
    expect(app.journal.calls).toEqual(['text', 'open']);
  });
});
