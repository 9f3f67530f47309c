import { Controller, Injectable, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { EMPTY, type Observable } from 'rxjs';
import { expect, it, jest } from '@jest/globals';
import {
  StreamAdmin,
  StreamContext,
  StreamProducer,
  StreamRuntime,
} from '../../../libs/redis-patterns/src/stream/index.js';
import { MessageBody, MessageContext, StreamConsumer } from '../../../libs/redis-patterns/src/stream/nest/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOn, describeOnEachTopology } from '../../support/topologies.js';
import { orders, useApplications } from './nest-app.js';
import { gate } from './test-streams.js';

describeOnEachTopology('@StreamConsumer', { user: 'stream' }, (topology) => {
  const nest = useApplications(topology);

  it('has a method handle messages until the application closes', async () => {
    @Injectable()
    class Billing {
      readonly seen: unknown[] = [];
      @StreamConsumer(orders)
      async bill(body: unknown, ctx: StreamContext): Promise<void> {
        this.seen.push([body, ctx.type]);
      }
    }
    await nest.boot({ providers: [Billing] });
    await nest.publish({ id: 1 }, { type: 'placed' });
    await eventually(() => expect(nest.app.get(Billing).seen).toEqual([[{ id: 1 }, 'placed']]));
    await eventually(async () => expect(await nest.pendingCount()).toBe(0));
    const runtime = nest.app.get(StreamRuntime);
    expect(runtime.state).toBe('running');
    await nest.app.close();
    expect(runtime.state).toBe('stopped');
    const groups = (await topology.admin.client.xinfo(
      'GROUPS',
      `${nest.place.namespace}:stream:orders`,
    )) as unknown[][];
    expect(groups[0]!.slice(2, 6)).toEqual(['consumers', 0, 'pending', 0]);
  });
});

describeOn('standalone', '@StreamConsumer and Nest', { user: 'stream' }, (topology) => {
  const nest = useApplications(topology);

  it('runs messages of a key in order for all methods of a group that one of them says it of', async () => {
    const seen: unknown[] = [];
    const first = gate();
    @Injectable()
    class Ledger {
      @StreamConsumer({ ...orders, type: 'opened', ordering: 'key' })
      async open(body: unknown): Promise<void> {
        await first.opened;
        seen.push(body);
      }
      @StreamConsumer({ ...orders, type: 'booked' })
      async book(body: unknown): Promise<void> {
        seen.push(body);
      }
    }
    await nest.boot({ providers: [Ledger] });
    await nest.publish(1, { type: 'opened', key: 'a' });
    await nest.publish(2, { type: 'booked', key: 'a' });
    await nest.publish(3, { type: 'booked', key: 'b' });
    await eventually(() => expect(seen).toEqual([3]));
    first.open();
    await eventually(() => expect(seen).toEqual([3, 1, 2]));
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
    await nest.boot({
      controllers: [Web],
      providers: [
        { provide: 'made', useFactory: () => new Made() },
        { provide: 'given', useValue: new Given() },
        Derived,
        { provide: 'alias', useExisting: Derived },
      ],
    });
    await nest.publish(1);
    await eventually(() => expect(seen).toHaveLength(4));
    await eventually(async () => {
      const groups = await nest.app.get(StreamAdmin).groups('orders');
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
    await nest.boot({ providers: [Billing] });
    const spy = jest.spyOn(nest.app.get(Billing), 'bill').mockResolvedValue();
    await nest.publish(1);
    await eventually(() => expect(spy).toHaveBeenCalledWith(1, expect.any(StreamContext)));
    await eventually(async () => expect(await nest.pendingCount()).toBe(0));
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
        await nest.app.get(StreamProducer).publish(stream, 1);
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
    await nest.boot({ imports: [BillingModule] });
    await running.opened;
    const closing = nest.app.close();
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
    await nest.boot({ providers: [Billing] }, { stream: { autoStart: false } });
    expect(nest.app.get(StreamRuntime).state).toBe('idle');
    expect(await nest.app.get(StreamAdmin).groups('orders')).toEqual([]);
    await nest.publish(1);
    nest.app.get(StreamRuntime).start();
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
      @Module(nest.rootOf({ providers: [Billing] }))
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
    await nest.boot({ providers: [Audit] });
    await nest.publish(1);
    await nest.app.get(StreamProducer).publish('payments', 2);
    await eventually(() => expect(seen).toHaveLength(2));
    expect(seen).toEqual(
      expect.arrayContaining([
        ['orders', 1],
        ['payments', 2],
      ]),
    );
  });
});
