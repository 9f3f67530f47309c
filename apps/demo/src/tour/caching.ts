// Reads that many share, and what everybody sees after a change.
import type { CacheStats } from 'nestjs-redis-patterns';
import type { Product } from '../products/product.js';
import { expect, first, newProduct, say, second, send, SLOWNESS } from './visitor.js';
import { until } from '../until.js';

export async function cache({ id }: Product): Promise<void> {
  const miss = await send<Product>('GET', `${first}/products/${id}`);
  const hit = await send<Product>('GET', `${second}/products/${id}`);
  say(
    'cache',
    `${miss.body.name}: ${miss.ms.toFixed(0)} ms from the database, ${hit.ms.toFixed(0)} ms from the cache, in another process`,
  );
  expect(miss.ms >= SLOWNESS && hit.ms < SLOWNESS, 'the second read is answered by the cache');
}

async function cacheStats(): Promise<CacheStats[]> {
  return Promise.all(
    [first, second].map(async (shop) => (await send<CacheStats>('GET', `${shop}/products/cache`)).body),
  );
}

export async function stampede(): Promise<void> {
  const { id } = await newProduct();
  const loads = async () => (await cacheStats()).reduce((sum, stats) => sum + stats.loads, 0);
  const before = await loads();
  const shops = Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? first : second));
  await Promise.all(shops.map((shop) => send<Product>('GET', `${shop}/products/${id}`)));
  const loaded = (await loads()) - before;
  say('stampede', `100 reads of a new product at once in two processes: read ${loaded} time from the database`);
  // One shop may be the same as the other, when only one runs.
  expect(loaded === 1 || first === second, 'the value is loaded once over both processes');
}

export async function tags(): Promise<void> {
  const count = async (shop: string) => (await send<Product[]>('GET', `${shop}/products`)).body.length;
  const before = await count(second);
  await newProduct();
  const after = await count(second);
  const again = await send<Product[]>('GET', `${second}/products`);
  say(
    'tag',
    `a product more in one process: the list in the other has ${after} at once, again in ${again.ms.toFixed(0)} ms`,
  );
  expect(after === before + 1 && again.ms < SLOWNESS, 'the tag invalidates the list, and then it is cached again');
}

export async function memory({ id, price }: Product): Promise<void> {
  const l1Hits = async () => (await cacheStats())[1]!.l1Hits;
  // A copy is kept by the first read from Redis, and used from then on.
  await send<Product>('GET', `${second}/products/${id}`);
  const before = await l1Hits();
  await send<Product>('GET', `${second}/products/${id}`);
  const hits = (await l1Hits()) - before;
  await send('PATCH', `${first}/products/${id}`, { price: price + 2 });
  const reading = () => send<Product>('GET', `${second}/products/${id}`);
  const read = await until(reading, ({ body }) => body.price === price + 2, 2000);
  say('copies', `${hits} read from memory, and after a change in the other process the new price, ${read.body.price}`);
  expect(hits === 1 && read.body.price === price + 2, 'copies in memory follow the changes of other processes');
}

export async function writeThrough({ id, price: before }: Product): Promise<void> {
  const price = before + 1;
  await send('PATCH', `${first}/products/${id}`, { price });
  const read = await send<Product>('GET', `${second}/products/${id}`);
  say('write-through', `the price is ${read.body.price} everywhere at once, read in ${read.ms.toFixed(0)} ms`);
  expect(read.body.price === price && read.ms < SLOWNESS, 'the cache has the new price');
}
