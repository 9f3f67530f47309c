import { expect, it } from '@jest/globals';
import { InvalidOptionsError } from '../../../libs/redis-patterns/src/core/errors.js';
import { StreamRuntime } from '../../../libs/redis-patterns/src/stream/index.js';
import { StreamConsumer } from '../../../libs/redis-patterns/src/stream/nest/index.js';
import { describeOn } from '../../support/topologies.js';
import { orders, useApplications } from './nest-app.js';

describeOn('standalone', 'an application whose consumers cannot work', { user: 'stream' }, (topology) => {
  const nest = useApplications(topology);

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
    expect((await nest.bootFailure([A, B])).message).toMatch(
      /B\.second[^]*A\.first already takes type 'paid' of orders\/g/,
    );
    expect((await nest.bootFailure([C])).message).toMatch(/C\.allToo[^]*C\.all already takes all types/);
  });

  it('two methods of one reader say different things about it', async () => {
    class A {
      @StreamConsumer({ stream: 'orders', group: 'g', type: 'placed', concurrency: 5, lease: '30s' })
      async first(): Promise<void> {}
      @StreamConsumer({ stream: 'orders', group: 'g', type: 'paid', lease: 30_000, concurrency: 6 })
      async second(): Promise<void> {}
    }
    const { message } = await nest.bootFailure([A]);
    expect(message).toMatch(/A\.second[^]*concurrency: differs from that of A\.first/);
    expect(message).not.toMatch(/lease/);
  });

  it('a method takes batches of a group that is ordered by key', async () => {
    class A {
      @StreamConsumer({ stream: 'orders', group: 'g', type: 'placed', ordering: 'key' })
      async first(): Promise<void> {}
      @StreamConsumer({ stream: 'orders', group: 'g', type: 'paid', batch: { size: 10 } })
      async second(): Promise<void> {}
    }
    expect((await nest.bootFailure([A])).message).toMatch(
      /A\.second[^]*batch: cannot be combined with ordering: 'key'/,
    );
  });

  it('an option is wrong', async () => {
    class A {
      @StreamConsumer({ stream: 'orders', group: '', concurency: 3, lease: '5 s', startFrom: 'now' } as never)
      async on(): Promise<void> {}
    }
    const { message } = await nest.bootFailure([A]);
    for (const part of ['A.on', 'group:', "did you mean 'concurrency'?", "'5 s' is not a duration", 'startFrom:']) {
      expect(message).toContain(part);
    }
    class B {
      @StreamConsumer({ stream: 'a{}b', group: 'g' })
      async on(): Promise<void> {}
    }
    await expect(nest.boot({ providers: [B] })).rejects.toMatchObject({ code: 'ERR_INVALID_KEY' });
    const failure: unknown = await nest.boot({}, { stream: { maxPayload: -1 } }).catch((error: unknown) => error);
    expect(String(failure)).toContain('stream.maxPayload');
  });

  it('there are more readers than blocking sockets', async () => {
    class A {
      @StreamConsumer({ stream: 'orders', group: 'g' })
      async on(): Promise<void> {}
      @StreamConsumer({ stream: 'orders', group: 'h' })
      async onToo(): Promise<void> {}
    }
    const connection = { ...nest.place.connection, pool: { maxBlocking: 1 } };
    const { message } = await nest.bootFailure([A], { connection });
    expect(message).toMatch(/connection\.pool\.maxBlocking: is 1, but 2 stream readers[^]*orders\/g, orders\/h/);
  });

  it('the pattern has no connection', async () => {
    class A {
      @StreamConsumer({ stream: 'orders', group: 'g' })
      async on(): Promise<void> {}
    }
    const { message } = await nest.bootFailure([A], {
      connection: undefined,
      connections: { durable: nest.place.connection },
    } as never);
    expect(message).toContain('stream.connection');
  });

  it('a static or symbol-named method is decorated', () => {
    const decorate = StreamConsumer(orders);
    const method = { value: (): void => undefined };
    expect(() => decorate(class {}, 'on', method)).toThrow(InvalidOptionsError);
    expect(() => decorate({}, Symbol('on'), method)).toThrow(InvalidOptionsError);
  });

  it('the handler is a generator, whose body nobody would run, or no function', async () => {
    const define = (): void => {
      class A {
        @StreamConsumer(orders)
        async *on(): AsyncGenerator<number> {
          yield 1;
        }
      }
      void A;
    };
    expect(define).toThrow(/@StreamConsumer on A\.on:[^]*is a generator[^]*async method/);
    const runtime = (await nest.boot({})).get(StreamRuntime);
    for (const wrong of [undefined, 'on', function* () {}, async function* () {}]) {
      expect(() => runtime.consume(orders, wrong as never)).toThrow(/StreamRuntime\.consume\(\)[^]*handler: /);
    }
  });
});
