import { Injectable } from '@nestjs/common';
import { MessageBody, StreamConsumer } from 'nestjs-redis-patterns';
import { orderEvents } from '../orders/order.js';
import { OrdersRepository } from '../orders/orders.repository.js';

/** Packs what was ordered. A message whose handler resolves is acknowledged; one that fails runs again. */
@Injectable()
export class FulfilmentConsumer {
  constructor(private readonly orders: OrdersRepository) {}

  @StreamConsumer({ stream: orderEvents, group: 'fulfilment', type: 'placed' })
  async fulfil(@MessageBody() { orderId }: { orderId: string; productId: number }): Promise<void> {
    const order = await this.orders.find(orderId);
    // Messages come at least once: to do it again must do no harm.
    if (order !== null) await this.orders.fulfil(order);
  }
}
