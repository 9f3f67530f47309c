import { ConflictException, Injectable, NotFoundException } from '@nestjs/common';
import { FeedService, StreamProducer, WithLock } from 'nestjs-redis-patterns';
import { ProductsService, stockLock } from '../products/products.service.js';
import { orderEvents, type Order } from './order.js';
import { OrdersRepository } from './orders.repository.js';

@Injectable()
export class OrdersService {
  constructor(
    private readonly products: ProductsService,
    private readonly orders: OrdersRepository,
    private readonly events: StreamProducer,
    private readonly feeds: FeedService,
  ) {}

  /** One order at a time for each product, in all processes: the last item is sold once. */
  @WithLock({ key: (productId: number) => stockLock(productId), wait: '5s' })
  async place(productId: number): Promise<Order> {
    const product = await this.products.take(productId);
    if (product === undefined) throw new ConflictException(`Product ${productId} is sold out`);
    // An id in the order of time, which is the one in the feed of orders, too.
    const id = await this.feeds.newId();
    const order: Order = { id, productId, status: 'placed', takenBy: process.pid };
    await this.orders.save(order);
    await this.events.publish(orderEvents, { orderId: order.id, productId }, { type: 'placed', key: order.id });
    return order;
  }

  async find(id: string): Promise<Order> {
    const order = await this.orders.find(id);
    if (order === null) throw new NotFoundException(`There is no order ${id}`);
    return order;
  }
}
