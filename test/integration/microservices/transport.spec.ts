import {
  BadRequestException,
  Catch,
  Controller,
  Module,
  UseFilters,
  UseGuards,
  UsePipes,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type INestMicroservice,
  type PipeTransform,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  ClientsModule,
  Ctx,
  EventPattern,
  MessagePattern,
  Payload,
  RpcException,
  type ClientProxy,
} from '@nestjs/microservices';

import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { EMPTY, firstValueFrom, from, lastValueFrom, toArray, type Observable } from 'rxjs';
import {
  RedisStreamsClient,
  RedisStreamsServer,
  type RedisStreamsContext,
} from '../../../libs/redis-patterns/src/microservices/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology, uniqueNamespace } from '../../support/topologies.js';
import { killSubscribers } from '../pubsub/test-pubsub.js';

class Guard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.getType() === 'rpc' && context.switchToRpc().getData<{ refuse?: boolean }>().refuse !== true;
  }
}
class Positive implements PipeTransform {
  transform(value: unknown): unknown {
    if ((value as { amount?: number }).amount! < 0) throw new RpcException('amount must be positive');
    return value;
  }
}
@Catch(BadRequestException)
class Swallow implements ExceptionFilter {
  catch(): Observable<never> {
    trail.push('filtered');
    return EMPTY;
  }
}

const trail: unknown[] = [];
let failures = 0;

@Controller()
class Billing {
  @EventPattern('order.placed')
  async bill(@Payload() order: { id: string; fail?: number }, @Ctx() context: unknown): Promise<void> {
    const { attempt } = (context as RedisStreamsContext).getMessage();
    trail.push(['billed', order.id, attempt]);
    if (attempt <= (order.fail ?? 0)) throw new Error('on purpose');
  }
  @EventPattern('order.placed')
  note(@Payload() order: { id: string }): void {
    trail.push(['noted', order.id]);
  }
  @EventPattern('order.filtered')
  @UseFilters(Swallow)
  filtered(@Payload() data: unknown): unknown {
    failures++;
    throw new BadRequestException(data);
  }
  @UseGuards(Guard)
  @UsePipes(Positive)
  @MessagePattern({ cmd: 'sum' })
  sum({ amount }: { amount: number }): number {
    return amount + 1;
  }
  @MessagePattern('count')
  count(n: number): Observable<number> {
    return from(Array.from({ length: n }, (_, index) => index));
  }
  @MessagePattern('unwritable')
  unwritable(): unknown {
    return () => undefined;
  }
}
@Module({ controllers: [Billing] })
class Service {}

describeOnEachTopology('the microservice transport', { user: ['stream', 'pubsub'] }, (topology) => {
  let server: INestMicroservice;
  let client: ClientProxy;
  let namespace: string;

  beforeEach(async () => {
    trail.length = 0;
    failures = 0;
    namespace = await topology.newNamespace();
    const shared = { namespace, connection: topology.connection };
    server = await NestFactory.createMicroservice(Service, {
      logger: false,
      strategy: new RedisStreamsServer({
        ...shared,
        group: 'billing',
        consumer: { block: 200, retry: { backoff: { base: 5, max: 20 } } },
      }),
    });
    await server.listen();
    client = new RedisStreamsClient({ ...shared, requestTimeout: '2s' });
  });
  afterEach(async () => {
    await client.close();
    await server.close();
  });

  it('runs an event again whose handler has failed, calls every handler of its pattern, and applies filters', async () => {
    await lastValueFrom(client.emit('order.placed', { id: 'a', fail: 1 }), { defaultValue: undefined });
    await eventually(() => expect(trail).toContainEqual(['billed', 'a', 2]));
    expect(trail.filter((each) => String(each).startsWith('noted'))).toHaveLength(2);
    await lastValueFrom(client.emit('somebody.elses', {}), { defaultValue: undefined });
    await lastValueFrom(client.emit('order.filtered', {}), { defaultValue: undefined });
    await eventually(() => expect(trail).toContain('filtered'));
    const pending = async () =>
      ((await topology.admin.client.xpending(`${namespace}:stream:bus`, 'billing')) as unknown[])[0];
    await eventually(async () => expect(await pending()).toBe(0));
    expect(failures).toBe(1);
    expect(await topology.admin.keys(`${namespace}:stream~dlq:*`)).toEqual([]);
  });

  it('answers requests with values, streams and errors, through guards and pipes', async () => {
    expect(await firstValueFrom(client.send({ cmd: 'sum' }, { amount: 41 }))).toBe(42);
    expect(await firstValueFrom(client.send('count', 5).pipe(toArray()))).toEqual([0, 1, 2, 3, 4]);
    const failure = (pattern: unknown, data: unknown) =>
      firstValueFrom(client.send(pattern, data)).then(
        () => undefined,
        (error: unknown) => error,
      );
    expect(await failure({ cmd: 'sum' }, { amount: -1 })).toMatchObject({ message: 'amount must be positive' });
    expect(await failure({ cmd: 'sum' }, { refuse: true })).toMatchObject({ message: 'Forbidden resource' });
    expect(await failure('unwritable', {})).toMatchObject({ status: 'error' });
    expect(await failure('nobody.answers', {})).toMatchObject({ code: 'ERR_MICROSERVICE_TIMEOUT' });
  });

  it('brings the replies to a client whose connections are killed meanwhile', async () => {
    await client.connect();
    const answers = Array.from({ length: 50 }, (_, amount) => firstValueFrom(client.send({ cmd: 'sum' }, { amount })));
    expect(await killSubscribers(topology.nodes, namespace)).toBeGreaterThan(0);
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 50 }, (_, n) => n + 1));
  });
});

it('is registered as any other client, and says which option is wrong', async () => {
  const options = { namespace: uniqueNamespace(), connection: 'redis://127.0.0.1:1' };
  expect(ClientsModule.register([{ name: 'BUS', customClass: RedisStreamsClient, options }]).exports).toHaveLength(1);
  expect(() => new RedisStreamsServer({ ...options, group: '' })).toThrow(/RedisStreamsServer[\s\S]*group/);
  expect(() => new RedisStreamsServer({ ...options, namespace: '', group: 'g' })).toThrow(/namespace/);
  expect(() => new RedisStreamsClient({ ...options, requestTimeout: -1 })).toThrow(/requestTimeout/);
});
