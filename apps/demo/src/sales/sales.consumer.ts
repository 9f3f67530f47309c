import { Injectable } from '@nestjs/common';
import { MessageBody, StreamConsumer } from 'nestjs-redis-patterns';
import { orderEvents } from '../orders/order.js';
import { ProductsService } from '../products/products.service.js';
import { SalesService } from './sales.service.js';

/** Counts what was sold, from the same events that are fulfilled. */
@Injectable()
export class SalesConsumer {
  constructor(
    private readonly sales: SalesService,
    private readonly products: ProductsService,
  ) {}

  @StreamConsumer({ stream: orderEvents, group: 'sales', type: 'placed' })
  async count(@MessageBody() { orderId, productId }: { orderId: string; productId: number }): Promise<void> {
    await this.sales.sold(orderId, await this.products.find(productId));
  }
}
