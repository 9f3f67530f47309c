// Checked by the compiler: that payloads fit the events of a stream, on both sides.
import {
  defineStream,
  StreamConsumer,
  type StreamAdmin,
  type StreamContext,
  type StreamProducer,
  type StreamRuntime,
} from 'nestjs-redis-patterns';
import { z } from 'zod';

interface OrderEvents {
  placed: { orderId: string };
  cancelled: { orderId: string; reason: string };
}

const orders = defineStream<OrderEvents>({
  name: 'orders',
  schema: { placed: z.object({ orderId: z.string() }) },
  retention: { mode: 'safe', maxLen: 1000, maxAge: '7d', maxBacklog: 10_000 },
});
const untyped = defineStream({ name: 'logs' });

// @ts-expect-error a schema for an event that does not exist
defineStream<OrderEvents>({ name: 'orders', schema: { shipped: z.object({}) } });

export async function produces(producer: StreamProducer): Promise<void> {
  const id: string = await producer.publish(orders, { orderId: '7' }, { type: 'placed', delay: '5m', dedupId: '7' });
  await producer.cancel(orders, id);
  await producer.publish('orders', 'anything', { replicaAck: { replicas: 1, timeout: '1s' } });
  await producer.publish(untyped, 'anything', { type: 'any' });
  await producer.publishMany(orders, [
    { type: 'placed', payload: { orderId: '7' } },
    { type: 'cancelled', payload: { orderId: '7', reason: 'late' } },
  ]);
  // @ts-expect-error the payload of another event
  await producer.publish(orders, { orderId: '7' }, { type: 'cancelled' });
  // @ts-expect-error an event that does not exist
  await producer.publish(orders, { orderId: '7' }, { type: 'shipped' });
  // @ts-expect-error no type
  await producer.publish(orders, { orderId: '7' });
  // @ts-expect-error the payload of another event, among several
  await producer.publishMany(orders, [{ type: 'cancelled', payload: { orderId: '7' } }]);
  // @ts-expect-error no duration
  await producer.publish('orders', 1, { delay: 'soon' });
}

export function consumes(runtime: StreamRuntime): void {
  runtime.consume({ stream: orders, group: 'g', type: 'placed' }, (order) => order.orderId.length);
  runtime.consume({ stream: orders, group: 'g', type: ['placed', 'cancelled'] }, ({ orderId }) => orderId);
  runtime.consume({ stream: orders, group: 'g', type: 'placed', batch: { size: 10 } }, async (bodies, ctx) => {
    const ids: string[] = bodies.map(({ orderId }) => orderId);
    const members: readonly StreamContext[] = ctx.messages;
    await members[0]!.commit((tx) => tx.call('INCRBY', 'sold:{orders}', ids.length));
  });
  runtime.consume({ stream: 'orders', group: 'g', timeout: '5s', slowAfter: '1m' }, (body: unknown) => body);
  // @ts-expect-error an event that does not exist
  runtime.consume({ stream: orders, group: 'g', type: 'shipped' }, () => undefined);
  // @ts-expect-error the event has no such property
  runtime.consume({ stream: orders, group: 'g', type: 'placed' }, (order) => order.reason);
}

export class Handlers {
  @StreamConsumer({ stream: orders, group: 'billing', type: 'placed', schema: z.object({ orderId: z.string() }) })
  placed(): void {}

  @StreamConsumer({ stream: orders, group: 'rest' })
  all(): void {}

  @StreamConsumer({ stream: 'orders', group: 'audit', type: 'anything', deadLetter: { stack: true }, ordering: 'none' })
  named(): void {}

  // @ts-expect-error an event that does not exist
  @StreamConsumer({ stream: orders, group: 'billing', type: 'shipped' })
  wrong(): void {}

  @StreamConsumer({ stream: orders, group: 'ordered', ordering: 'key', maxParked: 100 })
  ordered(): void {}
}

export async function administers(admin: StreamAdmin): Promise<void> {
  const figures = await admin.lag(orders, 'billing');
  const oldest: number | undefined = figures?.oldestMs;
  await admin.pause(orders, 'billing', { for: '10m' });
  await admin.replay(orders, 'billing', { from: new Date(oldest ?? 0), limit: 10 });
  await admin.deadLetters(orders, 'billing').replay({ ids: ['1-1'] });
  await admin.trim(orders, { maxLen: 10 });
  await admin.deleteGroup('orders', 'billing');
}
