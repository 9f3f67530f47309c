import { Injectable } from '@nestjs/common';
import { MessageBody, StreamConsumer, type StreamConsumerOptions } from 'nestjs-redis-patterns';
import { orderEvents } from '../orders/order.js';
import { OrdersRepository } from '../orders/orders.repository.js';
import { Carrier } from './carrier.js';

export const FULFILMENT = 'fulfilment';
/** Milliseconds without a sign of life after which another process takes an order over; short, so that one can watch it. */
export const PACKING_LEASE = 3_000;
/** What every process that packs says alike. */
export const packing = {
  stream: orderEvents,
  group: FULFILMENT,
  type: 'placed',
  lease: PACKING_LEASE,
} as const satisfies StreamConsumerOptions<{ placed: { orderId: string; productId: number } }>;

/** Packs what was ordered. A message whose handler resolves is acknowledged; one that fails runs again, three times in all. */
@Injectable()
export class FulfilmentConsumer {
  constructor(
    private readonly orders: OrdersRepository,
    private readonly carrier: Carrier,
  ) {}

  @StreamConsumer({
    ...packing,
    retry: { attempts: 3, backoff: { base: 50 } },
  })
  async fulfil(@MessageBody() { orderId }: { orderId: string; productId: number }): Promise<void> {
    const order = await this.orders.find(orderId);
    if (order === null) return;
    await this.carrier.collect();
    // Messages come at least once: to do it again must do no harm.
    await this.orders.fulfil(order);
  }
}
