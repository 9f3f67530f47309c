import { afterEach, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  Idempotent,
  PubSubService,
  RedisPatternsModule,
  StreamAdmin,
  StreamConsumer,
  StreamProducer,
  Subscribe,
} from 'nestjs-redis-patterns';
import { eventually } from '../../support/eventually.js';
import { describeOn } from '../../support/topologies.js';

interface Payment {
  readonly id: string;
  readonly amount: number;
}

// Without parameter decorators a handler gets its context as well, which is another one for each delivery.
@Injectable()
class Payments {
  readonly streamed: Payment[] = [];
  readonly heard: Payment[] = [];

  @StreamConsumer({ stream: 'payments', group: 'billing', retry: { attempts: 1 } })
  @Idempotent({ key: (payment: Payment) => ['streamed', payment.id] })
  async settle(payment: Payment): Promise<void> {
    this.streamed.push(payment);
  }

  @Subscribe('payments')
  @Idempotent({ key: (payment: Payment) => ['heard', payment.id] })
  async hear(payment: Payment): Promise<void> {
    this.heard.push(payment);
  }

  @Idempotent({ key: (id: string) => ['other', id] })
  async other(_id: string, _signal: AbortSignal): Promise<void> {}
}

describeOn('standalone', '@Idempotent on handlers of messages', (topology) => {
  const opened: TestingModule[] = [];
  afterEach(async () => {
    for (const module of opened.splice(0)) await module.close();
  });

  async function boot(): Promise<TestingModule> {
    const { connection, namespace } = topology;
    const module = await Test.createTestingModule({
      imports: [RedisPatternsModule.forRoot({ connection, namespace })],
      providers: [Payments],
    }).compile();
    opened.push(module);
    return module.init();
  }

  it('does the work of two messages with the same body once', async () => {
    const module = await boot();
    const { streamed, heard } = module.get(Payments);
    const letters = module.get(StreamAdmin).deadLetters('payments', 'billing');
    for (const [id, times] of [
      ['p1', 1],
      ['p1', 1],
      ['p2', 2],
    ] as const) {
      await module.get(StreamProducer).publish('payments', { id, amount: 5 });
      await module.get(PubSubService).publish('payments', { id, amount: 5 });
      await eventually(async () => {
        expect([streamed.length, heard.length]).toEqual([times, times]);
        expect((await module.get(StreamAdmin).pending('payments', 'billing'))?.count).toBe(0);
      });
    }
    expect(await letters.count()).toBe(0);
  });

  it('makes a dead letter of another payment with the same key', async () => {
    const module = await boot();
    const letters = module.get(StreamAdmin).deadLetters('payments', 'billing');
    const { streamed } = module.get(Payments);
    await module.get(StreamProducer).publish('payments', { id: 'p3', amount: 5 });
    await eventually(() => streamed.length === 1);
    await module.get(StreamProducer).publish('payments', { id: 'p3', amount: 6 });
    await eventually(async () => expect(await letters.count()).toBe(1));
    expect(streamed).toEqual([{ id: 'p3', amount: 5 }]);
  });

  it('asks for a fingerprint when an argument has no stable text', async () => {
    const module = await boot();
    await expect(module.get(Payments).other('1', new AbortController().signal)).rejects.toThrow(
      /@Idempotent on Payments\.other:\n {2}- fingerprint: must give what a repeated call has in common/,
    );
  });
});
