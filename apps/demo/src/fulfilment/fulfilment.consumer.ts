import { Injectable } from '@nestjs/common';
import { MessageBody, StreamConsumer } from 'nestjs-redis-patterns';
import { orderEvents } from '../orders/order.js';
import { OrdersRepository } from '../orders/orders.repository.js';
import { Carrier } from './carrier.js';

export const FULFILMENT = 'fulfilment';

/** Packs what was ordered. A message whose handler resolves is acknowledged; one that fails runs again, three times in all. */
@Injectable()
export class FulfilmentConsumer {
  constructor(
    private readonly orders: OrdersRepository,
    private readonly carrier: Carrier,
  ) {}

  @StreamConsumer({
    stream: orderEvents,
    group: FULFILMENT,
    type: 'placed',
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
