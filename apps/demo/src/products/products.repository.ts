import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { InjectRedis, type RedisClient } from 'nestjs-redis-patterns';
import type { Product, ProductChange } from './product.js';

const CATALOGUE: readonly Product[] = [
  { id: 1, name: 'Teapot', price: 49, stock: 100 },
  { id: 2, name: 'Kettle', price: 89, stock: 100 },
  { id: 3, name: 'Samovar', price: 349, stock: 1 },
];
/** What a product costs to read here, milliseconds: it stands for a slow query. */
const SLOWNESS = 300;

/**
 * The shop's database. It is kept in Redis only because that is all that the demo starts; several shops see the same
 * products. Nothing in here is a pattern: reading and writing are not atomic, which is why orders take a lock.
 */
@Injectable()
export class ProductsRepository implements OnModuleInit {
  constructor(@InjectRedis() private readonly redis: RedisClient) {}

  async onModuleInit(): Promise<void> {
    for (const product of CATALOGUE) await this.redis.set(key(product.id), JSON.stringify(product), 'NX');
  }

  /** Slow, like the query that it stands for. */
  async find(id: number): Promise<Product | null> {
    await delay(SLOWNESS);
    return this.read(id);
  }

  async read(id: number): Promise<Product | null> {
    const text = await this.redis.get(key(id));
    return text === null ? null : (JSON.parse(text) as Product);
  }

  async change(id: number, change: ProductChange): Promise<Product | null> {
    const product = await this.read(id);
    if (product === null) return null;
    Object.assign(product, change);
    await this.redis.set(key(id), JSON.stringify(product));
    return product;
  }
}

function key(id: number): string {
  return `shop:database:product:${id}`;
}
