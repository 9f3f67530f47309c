import {
  Inject,
  Injectable,
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
  type NestInterceptor,
  type PipeTransform,
} from '@nestjs/common';
import { Reflector, REQUEST } from '@nestjs/core';
import { tap, type Observable } from 'rxjs';
import { z } from 'zod';
import { expect, it } from '@jest/globals';
import {
  defineStream,
  MessageInvalidError,
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
import { describeOn } from '../../support/topologies.js';
import { orders, useApplications } from './nest-app.js';

describeOn('standalone', 'the enhancers of a @StreamConsumer', { user: 'stream' }, (topology) => {
  const nest = useApplications(topology);

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
    await nest.boot({ providers: [Billing] });
    await nest.publish({ id: '7' }, { type: 'placed', headers: { tenant: 'acme' } });
    await eventually(() => expect(trail).toHaveLength(4));
    expect(trail).toEqual([
      'guard stream clerk placed Billing',
      'pipe body OrderDto',
      '["acme",{"id":"7","piped":true},true,7,true]',
      'interceptor billed',
    ]);
    trail.length = 0;
    await nest.publish({ refuse: true });
    await eventually(() =>
      expect(trail).toEqual(['guard stream clerk undefined Billing', 'filter stream Forbidden resource']),
    );
    await eventually(async () =>
      expect(await nest.app.get(StreamAdmin).deadLetters('orders', 'g').list()).toMatchObject([
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
    await nest.boot({ providers: [Billing, Shipping] });
    await nest.publish(1);
    await eventually(() => expect(seen).toHaveLength(2));
    await nest.publish(2);
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

  it('checks a payload by its schema before anything else, and gives what the schema makes of it', async () => {
    const seen: unknown[] = [];
    const Order = z.object({ id: z.coerce.number(), note: z.string().default('none') });
    const shop = defineStream<{ placed: { id: string }; paid: { id: string } }>({
      name: 'orders',
      schema: { placed: z.object({ id: z.string() }) },
    });
    class Guard implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        seen.push(['guard', context.getArgs<[unknown]>()[0]]);
        return true;
      }
    }
    @Injectable()
    @UseGuards(Guard)
    class Billing {
      @StreamConsumer({ ...orders, type: 'paid', schema: Order })
      async bill(@MessageBody() order: unknown, @MessageBody('note') note: unknown): Promise<void> {
        seen.push([order, note]);
      }
    }
    await nest.boot({ providers: [Billing] });
    const producer = nest.app.get(StreamProducer);
    await expect(producer.publish(shop, { id: 7 } as never, { type: 'placed' })).rejects.toBeInstanceOf(
      MessageInvalidError,
    );
    await nest.publish({ id: 'seven' }, { type: 'paid' });
    await nest.publish({ id: '7' }, { type: 'paid' });
    await eventually(() => expect(seen).toHaveLength(2));
    const order = { id: 7, note: 'none' };
    expect(seen).toEqual([
      ['guard', order],
      [order, 'none'],
    ]);
    const letters = nest.app.get(StreamAdmin).deadLetters('orders', 'g');
    await eventually(async () =>
      expect(await letters.list()).toMatchObject([
        { body: { id: 'seven' }, reason: 'validation', attempts: 0, error: expect.stringContaining('id') },
      ]),
    );
  });

  it('hands a batch to a method, with what stands around it called once', async () => {
    const seen: unknown[] = [];
    class Interceptor implements NestInterceptor {
      intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
        return next.handle().pipe(tap(() => seen.push('interceptor')));
      }
    }
    @Injectable()
    class Billing {
      @StreamConsumer({ ...orders, batch: { size: 10, wait: 200 } })
      @UseInterceptors(Interceptor)
      async bill(@MessageBody() bodies: unknown[], @MessageContext() ctx: StreamContext): Promise<void> {
        seen.push([bodies, ctx.messages.map(({ type }) => type)]);
      }
    }
    await nest.boot({ providers: [Billing] }, { stream: { autoStart: false } });
    for (const n of [1, 2, 3]) await nest.publish(n, { type: `t${n}` });
    nest.app.get(StreamRuntime).start();
    await eventually(() => expect(seen).toHaveLength(2));
    expect(seen).toEqual([
      [
        [1, 2, 3],
        ['t1', 't2', 't3'],
      ],
      'interceptor',
    ]);
    await eventually(async () => expect(await nest.pendingCount()).toBe(0));
  });
});
