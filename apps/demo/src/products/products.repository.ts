import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { InjectRedis, type RedisClient } from 'nestjs-redis-patterns';
import type { NewProduct, Product, ProductChange } from './product.js';

const CATALOGUE: readonly Product[] = [
  { id: 1, name: 'Teapot', price: 49, stock: 100 },
  { id: 2, name: 'Kettle', price: 89, stock: 100 },
  { id: 3, name: 'Samovar', price: 349, stock: 1 },
];
/** What a product costs to read here, milliseconds: it stands for a slow query. */
const SLOWNESS = 300;
const LAST_ID = 'shop:demo:last-product-id';

/**
 * The shop's database. It is kept in Redis only because that is all that the demo starts; several shops see the same
 * products. Nothing in here is a pattern: reading and writing are not atomic, which is why the service takes a lock.
 */
@Injectable()
export class ProductsRepository implements OnModuleInit {
  constructor(@InjectRedis() private readonly redis: RedisClient) {}

  async onModuleInit(): Promise<void> {
    await this.redis.set(LAST_ID, CATALOGUE.length, 'NX');
    for (const product of CATALOGUE) {
      // Field by field: another shop that runs already may have sold some.
      for (const [field, value] of Object.entries(product)) await this.redis.hsetnx(keyOf(product.id), field, value);
    }
  }

  /** Slow, like the query that it stands for. */
  async find(id: number): Promise<Product | null> {
    await delay(SLOWNESS);
    return this.read(id);
  }

  async read(id: number): Promise<Product | null> {
    const { name, price, stock } = await this.redis.hgetall(keyOf(id));
    return name === undefined ? null : { id, name, price: Number(price), stock: Number(stock) };
  }

  /** All products; as slow as one. */
  async list(): Promise<Product[]> {
    await delay(SLOWNESS);
    const last = Number(await this.redis.get(LAST_ID));
    const products = await Promise.all(Array.from({ length: last }, (_, index) => this.read(index + 1)));
    return products.filter((product) => product !== null);
  }

  async create(product: NewProduct): Promise<Product> {
    const id = await this.redis.incr(LAST_ID);
    await this.redis.hset(keyOf(id), Object.assign({ id }, product));
    return Object.assign({ id }, product);
  }

  /** Writes what changed and nothing else. */
  async change(id: number, change: ProductChange): Promise<Product | null> {
    const product = await this.read(id);
    if (product === null) return null;
    if (Object.keys(change).length > 0) await this.redis.hset(keyOf(id), Object.assign({}, change));
    return Object.assign(product, change);
  }
}

function keyOf(id: number): string {
  return `shop:demo:product:${id}`;
}
