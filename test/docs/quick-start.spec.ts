import { readFileSync } from 'node:fs';
import { Body, Controller, Injectable, Module, Post, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  Cacheable,
  MessageBody,
  RateLimit,
  RedisPatternsModule,
  StreamConsumer,
  StreamProducer,
  WithLock,
} from 'nestjs-redis-patterns';
import request from 'supertest';
import { eventually } from '../support/eventually.js';
import { describeOn } from '../support/topologies.js';

interface Product {
  readonly id: number;
}
interface Order {
  readonly id: string;
}
class NewOrder {
  productId: number;
}

const PLACED = '/orders';

@Injectable()
class ProductsService {
  loads = 0;

  @Cacheable({ key: (id: number) => ['product', id], ttl: '5m' })
  async find(id: number): Promise<Product> {
    this.loads++;
    return { id };
  }
}

@Injectable()
class StockService {
  inside = 0;
  mostInside = 0;
  taken = 0;

  constructor(private readonly events: StreamProducer) {}

  @WithLock({ key: (productId: number) => ['stock', productId], wait: '2s' })
  async order(productId: number): Promise<Order> {
    const order = await this.takeOne(productId);
    await this.events.publish('orders', { orderId: order.id }, { type: 'placed' });
    return order;
  }

  private async takeOne(productId: number): Promise<Order> {
    this.mostInside = Math.max(this.mostInside, ++this.inside);
    const seen = this.taken;
    await new Promise((resolve) => setImmediate(resolve));
    this.taken = seen + 1;
    this.inside--;
    return { id: `${productId}-${this.taken}` };
  }
}

@Controller('orders')
class OrdersController {
  constructor(private readonly stock: StockService) {}

  @Post()
  @RateLimit({ limit: 10, window: '1m' })
  place(@Body() order: NewOrder): Promise<Order> {
    return this.stock.order(order.productId);
  }
}

@Injectable()
class Billing {
  readonly billed: string[] = [];

  @StreamConsumer({ stream: 'orders', group: 'billing', type: 'placed' })
  async bill(@MessageBody() event: { orderId: string }): Promise<void> {
    this.billed.push(event.orderId);
  }
}

describeOn('standalone', 'the quick start of the README', (topology) => {
  let app: INestApplication;

  beforeAll(async () => {
    @Module({
      imports: [RedisPatternsModule.forRoot({ namespace: topology.namespace, connection: topology.url })],
      controllers: [OrdersController],
      providers: [ProductsService, StockService, Billing],
    })
    class AppModule {}
    app = await NestFactory.create(AppModule, { logger: false, abortOnError: false });
    await app.listen(0, '127.0.0.1');
  });
  afterAll(() => app?.close());

  it('loads a product once for parallel and later calls', async () => {
    const products = app.get(ProductsService);
    const found = await Promise.all([products.find(7), products.find(7), products.find(8)]);
    expect([...found, await products.find(7)]).toEqual([{ id: 7 }, { id: 7 }, { id: 8 }, { id: 7 }]);
    expect(products.loads).toBe(2);
  });

  it('lets one order at a time of a product through the lock', async () => {
    const stock = app.get(StockService);
    const before = stock.taken;
    const orders = await Promise.all([1, 2, 3].map(() => stock.order(5)));
    expect(new Set(orders.map(({ id }) => id)).size).toBe(3);
    expect(stock.taken - before).toBe(3);
    expect(stock.mostInside).toBe(1);
  });

  it('answers the eleventh order of a minute with 429, and bills the ten before it', async () => {
    const placed: string[] = [];
    for (let n = 0; n < 10; n++) {
      const { status, body } = await request(app.getHttpServer()).post(PLACED).send({ productId: 9 });
      expect(status).toBe(201);
      placed.push((body as Order).id);
    }
    const refused = await request(app.getHttpServer()).post(PLACED).send({ productId: 9 });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    const { billed } = app.get(Billing);
    await eventually(() => expect(billed).toEqual(expect.arrayContaining(placed)));
  });
});

describe('the README', () => {
  it('shows the decorators that this spec runs', () => {
    const root = new URL('../../', import.meta.url);
    const decorators = (text: string): string[] =>
      text.match(/@(?:Cacheable|RateLimit|WithLock|StreamConsumer)\(\{.*\}\)/g) ?? [];
    const shown = decorators(readFileSync(new URL('README.md', root), 'utf8'));
    const run = decorators(readFileSync(new URL('test/docs/quick-start.spec.ts', root), 'utf8'));
    expect(shown.length).toBe(4);
    expect(run.sort()).toEqual(shown.sort());
  });
});
