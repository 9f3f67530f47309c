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
import { expect, it } from '@jest/globals';
import { StreamAdmin, StreamContext } from '../../../libs/redis-patterns/src/stream/index.js';
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
});
