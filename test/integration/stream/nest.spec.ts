import {
  Controller,
  Inject,
  Injectable,
  Module,
  ParseIntPipe,
  Scope,
  SetMetadata,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type ArgumentMetadata,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type LoggerService,
  type ModuleMetadata,
  type NestInterceptor,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import { NestFactory, Reflector, REQUEST } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { EMPTY, tap, type Observable } from 'rxjs';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { InvalidOptionsError } from '../../../libs/redis-patterns/src/core/errors.js';
import { RedisPatternsModule } from '../../../libs/redis-patterns/src/nest/redis-patterns.module.js';
import type { RedisPatternsOptions } from '../../../libs/redis-patterns/src/nest/redis-patterns.options.js';
import {
  StreamAdmin,
  StreamContext,
  StreamProducer,
  StreamRuntime,
} from '../../../libs/redis-patterns/src/stream/index.js';
import {
  MessageBody,
  MessageContext,
  MessageHeader,
  StreamConsumer,
} from '../../../libs/redis-patterns/src/stream/nest/index.js';
import { eventually } from '../../support/eventually.js';
import {
  describeOn,
  describeOnEachTopology,
  type PlainConnection,
  type SharedTopology,
} from '../../support/topologies.js';
import { gate, QUICK } from './test-streams.js';

const orders = { stream: 'orders', group: 'g', ...QUICK } as const;

const quiet = (): void => undefined;
const silent: LoggerService = { log: quiet, error: quiet, warn: quiet };

let app: TestingModule | undefined;
const opened: TestingModule[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
  app = undefined;
});

/** Where the applications of a test connect to. */
let place: { connection: PlainConnection; namespace: string };
function bootOn(topology: SharedTopology): void {
  beforeEach(async () => {
    place = { connection: topology.connection, namespace: await topology.newNamespace() };
  });
}

function rootOf(parts: ModuleMetadata, options: Partial<RedisPatternsOptions> = {}): ModuleMetadata {
  return { ...parts, imports: [RedisPatternsModule.forRoot({ ...place, ...options }), ...(parts.imports ?? [])] };
}

async function boot(parts: ModuleMetadata, options: Partial<RedisPatternsOptions> = {}): Promise<TestingModule> {
  app = await Test.createTestingModule(rootOf(parts, options)).setLogger(silent).compile();
  opened.push(app);
  await app.init();
  return app;
}

async function bootFailure(providers: Type[], options: Partial<RedisPatternsOptions> = {}): Promise<Error> {
  const failure: unknown = await boot({ providers }, options).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(InvalidOptionsError);
  return failure as Error;
}

const publish = (payload: unknown, options = {}) => app!.get(StreamProducer).publish('orders', payload, options);
const pendingCount = async () => (await app!.get(StreamAdmin).pending('orders', 'g'))?.count;

describeOnEachTopology('@StreamConsumer', { user: 'stream' }, (topology) => {
  bootOn(topology);

  it('has a method handle messages until the application closes', async () => {
    @Injectable()
    class Billing {
      readonly seen: unknown[] = [];
      @StreamConsumer(orders)
      async bill(body: unknown, ctx: StreamContext): Promise<void> {
        this.seen.push([body, ctx.type]);
      }
    }
    await boot({ providers: [Billing] });
    await publish({ id: 1 }, { type: 'placed' });
    await eventually(() => expect(app!.get(Billing).seen).toEqual([[{ id: 1 }, 'placed']]));
    await eventually(async () => expect(await pendingCount()).toBe(0));
    const runtime = app!.get(StreamRuntime);
    expect(runtime.state).toBe('running');
    await app!.close();
    expect(runtime.state).toBe('stopped');
    const groups = (await topology.admin.client.xinfo('GROUPS', `${place.namespace}:stream:orders`)) as unknown[][];
    expect(groups[0]!.slice(2, 6)).toEqual(['consumers', 0, 'pending', 0]);
  });
});

describeOn('standalone', '@StreamConsumer and Nest', { user: 'stream' }, (topology) => {
  bootOn(topology);

  it('applies guards, pipes, interceptors, filters and parameter decorators, written above and below', async () => {
    const trail: string[] = [];
    class Guard implements CanActivate {
      constructor(private readonly reflector: Reflector) {}
      canActivate(context: ExecutionContext): boolean {
        const [body, ctx] = context.getArgs<[{ refuse?: boolean }, StreamContext]>();
        const role = this.reflector.get<string>('role', context.getHandler());
        trail.push(`guard ${context.getType()} ${role} ${ctx.type} ${context.getClass().name}`);
        return body.refuse !== true;
      }
    }
    Injectable()(Guard);
    Inject(Reflector)(Guard, undefined, 0);
    class Interceptor implements NestInterceptor {
      intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
        return next.handle().pipe(tap((result) => trail.push(`interceptor ${String(result)}`)));
      }
    }
    class OrderDto {
      id!: string;
    }
    class Upper implements PipeTransform {
      transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
        if (type !== 'body' || metatype !== OrderDto) return value;
        trail.push(`pipe ${type} ${metatype?.name}`);
        return { ...(value as object), piped: true };
      }
    }
    class Filter implements ExceptionFilter {
      catch(error: Error, host: ArgumentsHost): void {
        trail.push(`filter ${host.getType()} ${error.message}`);
        throw error;
      }
    }
    @Injectable()
    class Billing {
      @UseGuards(Guard)
      @UsePipes(Upper)
      @StreamConsumer({ ...orders, retry: { attempts: 1 } })
      @UseInterceptors(Interceptor)
      @UseFilters(Filter)
      @SetMetadata('role', 'clerk')
      async bill(
        @MessageHeader('tenant') tenant: string,
        @MessageBody() order: OrderDto,
        @MessageContext() ctx: StreamContext,
        @MessageBody('id', ParseIntPipe) id: number,
        @MessageHeader('missing') missing: unknown,
      ): Promise<string> {
        trail.push(JSON.stringify([tenant, order, ctx instanceof StreamContext, id, missing === undefined]));
        return 'billed';
      }
    }
    await boot({ providers: [Billing] });
    await publish({ id: '7' }, { type: 'placed', headers: { tenant: 'acme' } });
    await eventually(() => expect(trail).toHaveLength(4));
    expect(trail).toEqual([
      'guard stream clerk placed Billing',
      'pipe body OrderDto',
      '["acme",{"id":"7","piped":true},true,7,true]',
      'interceptor billed',
    ]);
    trail.length = 0;
    await publish({ refuse: true });
    await eventually(() =>
      expect(trail).toEqual(['guard stream clerk undefined Billing', 'filter stream Forbidden resource']),
    );
    await eventually(async () =>
      expect(await app!.get(StreamAdmin).deadLetters('orders', 'g').list()).toMatchObject([
        { reason: 'max-attempts', error: expect.stringContaining('Forbidden') },
      ]),
    );
  });

  it('gives a request-scoped host a context for each message', async () => {
    const seen: unknown[] = [];
    let made = 0;
    @Injectable({ scope: Scope.REQUEST })
    class Billing {
      readonly nth = ++made;
      constructor(@Inject(REQUEST) private readonly request: StreamContext) {}
      @StreamConsumer(orders)
      async bill(@MessageBody() body: unknown, @MessageContext() ctx: StreamContext): Promise<void> {
        seen.push([body, this.nth, this.request === ctx]);
      }
    }
    @Injectable({ scope: Scope.TRANSIENT })
    class Shipping {
      @StreamConsumer({ ...orders, group: 'shipping' })
      async ship(@MessageBody() body: unknown): Promise<void> {
        seen.push(['shipped', body]);
      }
    }
    await boot({ providers: [Billing, Shipping] });
    await publish(1);
    await eventually(() => expect(seen).toHaveLength(2));
    await publish(2);
    await eventually(() => expect(seen).toHaveLength(4));
    expect(seen).toEqual(
      expect.arrayContaining([
        [1, 1, true],
        [2, 2, true],
        ['shipped', 1],
        ['shipped', 2],
      ]),
    );
  });

  it('finds handlers of controllers, factories, values and base classes, and counts an alias once', async () => {
    const seen: string[] = [];
    @Controller()
    class Web {
      @StreamConsumer({ ...orders, group: 'controller' })
      async on(@MessageBody() _body: unknown): Promise<void> {
        seen.push('controller');
      }
    }
    class Made {
      @StreamConsumer({ ...orders, group: 'factory' })
      async on(): Promise<void> {
        seen.push('factory');
      }
    }
    class Given {
      @StreamConsumer({ ...orders, group: 'value' })
      on(): Observable<never> {
        seen.push('value');
        return EMPTY;
      }
    }
    class Base {
      @StreamConsumer({ ...orders, group: 'base' })
      async on(): Promise<void> {
        seen.push(`base of ${this.constructor.name}`);
      }
      @StreamConsumer({ ...orders, group: 'overridden' })
      async overridden(): Promise<void> {
        seen.push('not me');
      }
    }
    @Injectable()
    class Derived extends Base {
      override async overridden(): Promise<void> {
        seen.push('not decorated');
      }
    }
    await boot({
      controllers: [Web],
      providers: [
        { provide: 'made', useFactory: () => new Made() },
        { provide: 'given', useValue: new Given() },
        Derived,
        { provide: 'alias', useExisting: Derived },
      ],
    });
    await publish(1);
    await eventually(() => expect(seen).toHaveLength(4));
    await eventually(async () => {
      const groups = await app!.get(StreamAdmin).groups('orders');
      expect(groups.map(({ name, pending }) => [name, pending])).toEqual([
        ['base', 0],
        ['controller', 0],
        ['factory', 0],
        ['value', 0],
      ]);
    });
    expect(seen.toSorted((a, b) => a.localeCompare(b))).toEqual(['base of Derived', 'controller', 'factory', 'value']);
  });

  it('calls what the method is when the message comes', async () => {
    @Injectable()
    class Billing {
      @StreamConsumer(orders)
      async bill(_body: unknown, _ctx: StreamContext): Promise<void> {
        throw new Error('the original');
      }
    }
    await boot({ providers: [Billing] });
    const spy = jest.spyOn(app!.get(Billing), 'bill').mockResolvedValue();
    await publish(1);
    await eventually(() => expect(spy).toHaveBeenCalledWith(1, expect.any(StreamContext)));
    await eventually(async () => expect(await pendingCount()).toBe(0));
  });

  it('starts when the hosts have booted, and drains before they and their modules are destroyed', async () => {
    const trail: string[] = [];
    const running = gate();
    const hold = gate();
    class Database implements OnModuleDestroy {
      onModuleDestroy(): void {
        trail.push('database closed');
      }
    }
    @Module({ providers: [Database], exports: [Database] })
    class DatabaseModule {}
    @Injectable()
    class Billing implements OnApplicationBootstrap, OnModuleDestroy {
      async onApplicationBootstrap(): Promise<void> {
        const { stream } = orders;
        await app!.get(StreamProducer).publish(stream, 1);
        await new Promise((resolve) => setTimeout(resolve, 100));
        trail.push('booted');
      }
      @StreamConsumer(orders)
      async bill(@MessageBody() _body: unknown): Promise<void> {
        trail.push('run');
        running.open();
        await hold.opened;
        trail.push('run ended');
      }
      onModuleDestroy(): void {
        trail.push('host destroyed');
      }
    }
    @Module({ imports: [DatabaseModule], providers: [Billing] })
    class BillingModule {}
    await boot({ imports: [BillingModule] });
    await running.opened;
    const closing = app!.close();
    setTimeout(() => hold.open(), 50);
    await closing;
    expect(trail.slice(0, 3)).toEqual(['booted', 'run', 'run ended']);
    expect(trail.slice(3).toSorted((a, b) => a.localeCompare(b))).toEqual(['database closed', 'host destroyed']);
  });

  it('waits for StreamRuntime.start() with autoStart false', async () => {
    const seen: unknown[] = [];
    @Injectable()
    class Billing {
      @StreamConsumer(orders)
      async bill(body: unknown): Promise<void> {
        seen.push(body);
      }
    }
    await boot({ providers: [Billing] }, { stream: { autoStart: false } });
    expect(app!.get(StreamRuntime).state).toBe('idle');
    expect(await app!.get(StreamAdmin).groups('orders')).toEqual([]);
    await publish(1);
    app!.get(StreamRuntime).start();
    await eventually(() => expect(seen).toEqual([1]));
  });

  it('serves two applications of one process as two consumers', async () => {
    const seen: string[] = [];
    const make = async (name: string) => {
      @Injectable()
      class Billing {
        @StreamConsumer({ ...orders, concurrency: 1, prefetch: 0 })
        async bill(@MessageContext() ctx: StreamContext): Promise<void> {
          seen.push(`${name} ${ctx.consumer}`);
        }
      }
      @Module(rootOf({ providers: [Billing] }))
      class Root {}
      return NestFactory.createApplicationContext(Root, { logger: false });
    };
    const apps = await Promise.all([make('one'), make('two')]);
    try {
      const producer = apps[0]!.get(StreamProducer);
      await eventually(async () => {
        await producer.publish('orders', 1);
        expect(new Set(seen.map((line) => line.split(' ')[0]))).toEqual(new Set(['one', 'two']));
      });
      expect(new Set(seen).size).toBe(2);
    } finally {
      await Promise.all(apps.map((each) => each.close()));
    }
  });

  it('uses several decorators on one method', async () => {
    const seen: unknown[] = [];
    @Injectable()
    class Audit {
      @StreamConsumer(orders)
      @StreamConsumer({ ...orders, stream: 'payments' })
      async log(body: unknown, ctx: StreamContext): Promise<void> {
        seen.push([ctx.stream, body]);
      }
    }
    await boot({ providers: [Audit] });
    await publish(1);
    await app!.get(StreamProducer).publish('payments', 2);
    await eventually(() => expect(seen).toHaveLength(2));
    expect(seen).toEqual(
      expect.arrayContaining([
        ['orders', 1],
        ['payments', 2],
      ]),
    );
  });
});

describeOn('standalone', 'an application whose consumers cannot work', { user: 'stream' }, (topology) => {
  bootOn(topology);

  it('two methods take the same type, or everything, of one group', async () => {
    class A {
      @StreamConsumer({ stream: 'orders', group: 'g', type: ['placed', 'paid'] })
      async first(): Promise<void> {}
    }
    class B {
      @StreamConsumer({ stream: 'orders', group: 'g', type: 'paid' })
      async second(): Promise<void> {}
    }
    class C {
      @StreamConsumer({ stream: 'orders', group: 'other' })
      async all(): Promise<void> {}
      @StreamConsumer({ stream: 'orders', group: 'other' })
      async allToo(): Promise<void> {}
    }
    expect((await bootFailure([A, B])).message).toMatch(/B\.second[^]*A\.first already takes type 'paid' of orders\/g/);
    expect((await bootFailure([C])).message).toMatch(/C\.allToo[^]*C\.all already takes all types/);
  });

  it('two methods of one reader say different things about it', async () => {
    class A {
      @StreamConsumer({ stream: 'orders', group: 'g', type: 'placed', concurrency: 5, lease: '30s' })
      async first(): Promise<void> {}
      @StreamConsumer({ stream: 'orders', group: 'g', type: 'paid', lease: 30_000, concurrency: 6 })
      async second(): Promise<void> {}
    }
    const { message } = await bootFailure([A]);
    expect(message).toMatch(/A\.second[^]*concurrency: differs from that of A\.first/);
    expect(message).not.toMatch(/lease/);
  });

  it('an option is wrong', async () => {
    class A {
      @StreamConsumer({ stream: 'orders', group: '', concurency: 3, lease: '5 s', startFrom: 'now' } as never)
      async on(): Promise<void> {}
    }
    const { message } = await bootFailure([A]);
    for (const part of ['A.on', 'group:', "did you mean 'concurrency'?", "'5 s' is not a duration", 'startFrom:']) {
      expect(message).toContain(part);
    }
    class B {
      @StreamConsumer({ stream: 'a{}b', group: 'g' })
      async on(): Promise<void> {}
    }
    await expect(boot({ providers: [B] })).rejects.toMatchObject({ code: 'ERR_INVALID_KEY' });
    const failure: unknown = await boot({}, { stream: { maxPayload: -1 } }).catch((error: unknown) => error);
    expect(String(failure)).toContain('stream.maxPayload');
  });

  it('there are more readers than blocking sockets', async () => {
    class A {
      @StreamConsumer({ stream: 'orders', group: 'g' })
      async on(): Promise<void> {}
      @StreamConsumer({ stream: 'orders', group: 'h' })
      async onToo(): Promise<void> {}
    }
    const connection = { ...place.connection, pool: { maxBlocking: 1 } };
    const { message } = await bootFailure([A], { connection });
    expect(message).toMatch(/connection\.pool\.maxBlocking: is 1, but 2 stream readers[^]*orders\/g, orders\/h/);
  });

  it('the pattern has no connection', async () => {
    class A {
      @StreamConsumer({ stream: 'orders', group: 'g' })
      async on(): Promise<void> {}
    }
    const { message } = await bootFailure([A], {
      connection: undefined,
      connections: { durable: place.connection },
    } as never);
    expect(message).toContain('stream.connection');
  });

  it('a static or symbol-named method is decorated', () => {
    const decorate = StreamConsumer(orders);
    const method = { value: (): void => undefined };
    expect(() => decorate(class {}, 'on', method)).toThrow(InvalidOptionsError);
    expect(() => decorate({}, Symbol('on'), method)).toThrow(InvalidOptionsError);
  });
});
