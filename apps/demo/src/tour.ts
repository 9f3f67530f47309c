import { setTimeout as delay } from 'node:timers/promises';
import type { Order } from './orders/order.js';
import type { Product } from './products/product.js';

/** A visitor of two shops on one Redis, who looks whether everything happens that the patterns promise. */
const [first = '', second = first] = (process.env.DEMO_URLS ?? process.env.DEMO_URL ?? 'http://127.0.0.1:3000').split(
  ',',
);

interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
  readonly ms: number;
}

async function send<Body>(method: string, url: string, body?: object, client = 'tour'): Promise<Answer<Body>> {
  const began = performance.now();
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', 'x-client': client },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const parsed = (await response.json()) as Body;
  return { status: response.status, headers: response.headers, body: parsed, ms: performance.now() - began };
}

function expect(condition: boolean, wanted: string): void {
  if (!condition) throw new Error(`Expected that ${wanted}`);
}

function say(step: string, text: string): void {
  console.log(`  ${step.padEnd(16)} ${text}`);
}

async function cache(): Promise<void> {
  // A product that nobody has asked for in the last five minutes is a miss; a change makes it known again.
  const miss = await send<Product>('GET', `${first}/products/2`);
  const hit = await send<Product>('GET', `${second}/products/2`);
  say(
    'cache',
    `${miss.body.name}: ${miss.ms.toFixed(0)} ms from the database, ${hit.ms.toFixed(0)} ms from the cache, in another process`,
  );
  expect(miss.ms >= 300 && hit.ms < 150, 'the second read is answered by the cache');
}

async function writeThrough(): Promise<void> {
  const price = 50 + Math.floor(Math.random() * 900);
  await send('PATCH', `${first}/products/2`, { price });
  const read = await send<Product>('GET', `${second}/products/2`);
  say('write-through', `the price is ${read.body.price} everywhere at once, read in ${read.ms.toFixed(0)} ms`);
  expect(read.body.price === price && read.ms < 150, 'the cache has the new price');
}

async function rateLimit(): Promise<void> {
  const client = `burst-${process.pid}`;
  const shops = Array.from({ length: 30 }, (_, i) => (i % 2 === 0 ? first : second));
  const answers = await Promise.all(shops.map((shop) => send('POST', `${shop}/orders`, { productId: 1 }, client)));
  const passed = answers.filter(({ status }) => status === 201).length;
  const refused = answers.filter(({ status }) => status === 429);
  const retryAfter = refused[0]?.headers.get('retry-after');
  say(
    'rate limit',
    `30 orders at once in two processes: ${passed} passed, ${refused.length} got 429, Retry-After: ${retryAfter} s`,
  );
  expect(passed === 10 && refused.length === 20, 'exactly 10 of 30 orders pass');
  expect(Number(retryAfter) >= 1 && Number(retryAfter) <= 66, 'the 429 says when to come back');
}

async function lastItem(): Promise<Order> {
  await send('PATCH', `${first}/products/3`, { stock: 1 });
  const answers = await Promise.all(
    [first, second].map((shop, i) =>
      send<Order>('POST', `${shop}/orders`, { productId: 3 }, `buyer-${process.pid}-${i}`),
    ),
  );
  const won = answers.filter(({ status }) => status === 201);
  const lost = answers.filter(({ status }) => status === 409);
  say(
    'lock',
    `two orders on the last item in two processes: ${won.length} won, ${lost.length} was told that it is sold out`,
  );
  expect(won.length === 1 && lost.length === 1, 'the last item is sold once');
  return won[0]!.body;
}

async function fulfilled(order: Order): Promise<void> {
  const began = performance.now();
  const deadline = began + 10_000;
  let status = order.status;
  while (status !== 'fulfilled' && performance.now() < deadline) {
    await delay(20);
    status = (await send<Order>('GET', `${second}/orders/${order.id}`)).body.status;
  }
  say('stream', `order ${order.id} is ${status}, ${(performance.now() - began).toFixed(0)} ms after it was placed`);
  expect(status === 'fulfilled', 'the order is fulfilled by a consumer');
}

try {
  console.log(`A tour of the shop on ${process.env.REDIS_MODE ?? 'Redis'}:`);
  await cache();
  await writeThrough();
  await rateLimit();
  await fulfilled(await lastItem());
  console.log('Everything happened as promised.');
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
