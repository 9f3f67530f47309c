// A cache: parallel misses load once, a write is seen at once, and a whole answer is kept by its query.
import 'reflect-metadata';
import { strict as assert } from 'node:assert';
import { Controller, Get, Injectable, Module, Query } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  Cacheable,
  CacheEvict,
  CachePut,
  CacheResponse,
  defineCache,
  RedisPatternsModule,
} from 'nestjs-redis-patterns';

interface Product {
  readonly id: number;
  readonly name: string;
}

const productCache = defineCache<[id: number], Product>({
  resource: 'product',
  key: (id) => id,
  ttl: '10m',
  tags: () => ['products'],
});

@Injectable()
class ProductsService {
  readonly rows = new Map([
    [1, 'Lamp'],
    [2, 'Chair'],
  ]);
  queries = 0;

  @Cacheable(productCache)
  async find(id: number): Promise<Product> {
    this.queries++;
    return { id, name: this.rows.get(id) ?? 'unknown' };
  }

  @CachePut(productCache, { key: (product: Product) => [product.id] })
  async rename(id: number, name: string): Promise<Product> {
    this.rows.set(id, name);
    return { id, name };
  }

  @CacheEvict(productCache)
  async remove(id: number): Promise<void> {
    this.rows.delete(id);
  }
}

@Controller('products')
class ProductsController {
  answers = 0;

  @Get()
  @CacheResponse({ ttl: '30s', scope: 'public', query: ['page'] })
  list(@Query('page') page = '1'): { page: string; made: number } {
    return { page, made: ++this.answers };
  }
}

@Module({
  imports: [
    RedisPatternsModule.forRoot({
      namespace: `example-cache-${process.pid}`,
      connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379',
    }),
  ],
  controllers: [ProductsController],
  providers: [ProductsService],
})
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
  await app.listen(0, '127.0.0.1');
  const products = app.get(ProductsService);

  const found = await Promise.all(Array.from({ length: 50 }, () => products.find(1)));
  assert.deepEqual(new Set(found.map(({ name }) => name)), new Set(['Lamp']));
  assert.equal(products.queries, 1);
  console.log('50 parallel callers, 1 query');

  await products.rename(1, 'Desk lamp');
  assert.equal((await products.find(1)).name, 'Desk lamp');
  assert.equal(products.queries, 1);
  console.log('renamed: the cache has the new name, and no query was made');

  await products.remove(1);
  assert.equal((await products.find(1)).name, 'unknown');
  console.log('removed: the next call asks again');

  const url = await app.getUrl();
  const page = async (query: string) => (await (await fetch(`${url}/products?${query}`)).json()) as { made: number };
  assert.equal((await page('page=2')).made, (await page('page=2&utm=mail')).made);
  assert.notEqual((await page('page=2')).made, (await page('page=3')).made);
  console.log('an answer is kept for each page, whatever else stands in the query');
  await app.close();
}

void main();
