import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  BucketCount,
  CacheStats,
  ConnectionStats,
  FeedEntry,
  LeaderboardEntry,
  UniqueCount,
  DeadLetter,
  DoctorReport,
  StreamLag,
} from 'nestjs-redis-patterns';
import type { Order } from './orders/order.js';
import type { Product } from './products/product.js';
import type { Sale } from './sales/sales.service.js';
import type { Stocktaking } from './stocktaking/stocktaking.js';

/** A visitor of two shops on one Redis, who looks whether everything happens that the patterns promise. */
const [first = '', second = first] = (process.env.DEMO_URLS ?? process.env.DEMO_URL ?? 'http://127.0.0.1:3000').split(
  ',',
);

/** Orders that the tour places on its product: ten that pass the limit, one with a key, and the last item. */
const ORDERS = 12;
/** Milliseconds that the shop's database takes at least: what is faster came from the cache. */
const SLOWNESS = 290;

interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
  readonly ms: number;
}

async function send<Body>(
  method: string,
  url: string,
  body?: object,
  client = 'tour',
  key?: string,
): Promise<Answer<Body>> {
  const began = performance.now();
  const response = await fetch(url, {
    method,
    headers: {
      'content-type': 'application/json',
      'x-client': client,
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
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

/** One of its own, which nobody has read or bought: the shop's Redis may have seen tours before. */
async function newProduct(): Promise<Product> {
  const { status, body } = await send<Product>('POST', `${first}/products`, { name: 'Kettle', price: 89, stock: 100 });
  expect(status === 201, 'the shop takes a new product');
  return body;
}

async function cache({ id }: Product): Promise<void> {
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

async function stampede(): Promise<void> {
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

async function tags(): Promise<void> {
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

async function memory({ id, price }: Product): Promise<void> {
  const l1Hits = async () => (await cacheStats())[1]!.l1Hits;
  // A copy is kept by the first read from Redis, and used from then on.
  await send<Product>('GET', `${second}/products/${id}`);
  const before = await l1Hits();
  await send<Product>('GET', `${second}/products/${id}`);
  const hits = (await l1Hits()) - before;
  await send('PATCH', `${first}/products/${id}`, { price: price + 2 });
  const deadline = performance.now() + 2000;
  let read = await send<Product>('GET', `${second}/products/${id}`);
  while (read.body.price !== price + 2 && performance.now() < deadline) {
    read = await send<Product>('GET', `${second}/products/${id}`);
  }
  say('copies', `${hits} read from memory, and after a change in the other process the new price, ${read.body.price}`);
  expect(hits === 1 && read.body.price === price + 2, 'copies in memory follow the changes of other processes');
}

async function writeThrough({ id, price: before }: Product): Promise<void> {
  const price = before + 1;
  await send('PATCH', `${first}/products/${id}`, { price });
  const read = await send<Product>('GET', `${second}/products/${id}`);
  say('write-through', `the price is ${read.body.price} everywhere at once, read in ${read.ms.toFixed(0)} ms`);
  expect(read.body.price === price && read.ms < SLOWNESS, 'the cache has the new price');
}

async function rateLimit({ id }: Product): Promise<void> {
  const client = randomUUID();
  const shops = Array.from({ length: 30 }, (_, i) => (i % 2 === 0 ? first : second));
  const answers = await Promise.all(shops.map((shop) => send('POST', `${shop}/orders`, { productId: id }, client)));
  const passed = answers.filter(({ status }) => status === 201).length;
  const refused = answers.filter(({ status }) => status === 429);
  const retryAfter = refused[0]?.headers.get('retry-after');
  const standing = refused[0]?.headers.get('ratelimit');
  say('rate limit', `30 orders at once in two processes: ${passed} passed, ${refused.length} got 429`);
  say('', `with Retry-After: ${retryAfter}, and RateLimit: ${standing}`);
  expect(passed === 10 && refused.length === 20, 'exactly 10 of 30 orders pass');
  expect(Number(retryAfter) >= 1 && Number(retryAfter) <= 66, 'the 429 says when to come back');
}

async function lockOut(): Promise<void> {
  const user = `grace-${randomUUID()}`;
  const password = Array.from(user).toReversed().join('');
  const login = (shop: string, word: string) => send(`POST`, `${shop}/login`, { user, password: word });
  const welcome = await login(first, password);
  const guesses = await Promise.all(
    Array.from({ length: 20 }, (_, i) => login(i % 2 === 0 ? first : second, `guess ${i}`)),
  );
  const wrong = guesses.filter(({ status }) => status === 401).length;
  const locked = await login(first, password);
  say(
    'login',
    `20 guesses at once: ${wrong} were looked at, then even the right password gets ${locked.status}, Retry-After: ${locked.headers.get('retry-after')}`,
  );
  expect(welcome.status === 200 && wrong === 3 && locked.status === 429, 'three wrong passwords lock an account');
}

async function session(): Promise<void> {
  const user = `ada-${randomUUID()}`;
  const password = Array.from(user).toReversed().join('');
  const login = async () =>
    (await send('POST', `${first}/login`, { user, password })).headers.get('set-cookie')!.split(';')[0]!;
  const ask = (method: string, shop: string, path: string, cookie: string) =>
    fetch(`${shop}${path}`, { method, headers: { cookie } });
  const [phone, laptop] = [await login(), await login()];
  const list = (await (await ask('GET', second, '/login', phone)).json()) as unknown[];
  const out = await ask('DELETE', second, '/login?everywhere', phone);
  const after = await ask('GET', first, '/login', laptop);
  say(
    'session',
    `logged in twice, ${list.length} sessions in another process; logged out there everywhere, the other session gets ${after.status}`,
  );
  expect(list.length === 2 && out.status === 200 && after.status === 401, 'a logout everywhere ends all sessions');
}

async function replay({ id }: Product): Promise<void> {
  const client = randomUUID();
  const key = randomUUID();
  const order = (shop: string, productId = id) => send<Order>('POST', `${shop}/orders`, { productId }, client, key);
  const placed = await order(first);
  const again = await order(second);
  const other = await order(second, id + 1);
  const replayed = again.headers.get('idempotent-replayed');
  say(
    'idempotency',
    `the same order again: order ${again.body.id} once more, Idempotent-Replayed: ${replayed}; another one with its key: ${other.status}`,
  );
  expect(placed.status === 201 && again.status === 201 && again.body.id === placed.body.id, 'an order is placed once');
  expect(replayed === 'true' && other.status === 422, 'a key stands for one order');
}

async function lastItem({ id }: Product): Promise<Order> {
  await send('PATCH', `${first}/products/${id}`, { stock: 1 });
  const answers = await Promise.all(
    [first, second].map((shop) => send<Order>('POST', `${shop}/orders`, { productId: id }, randomUUID())),
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

async function broadcast({ id }: Product): Promise<void> {
  const began = performance.now();
  await send('PATCH', `${first}/products/${id}`, { stock: 42 });
  const told = async () =>
    Promise.all(
      [first, second].map(async (shop) => (await send<{ stock?: number }>('GET', `${shop}/stock/${id}`)).body.stock),
    );
  let stocks = await told();
  for (const end = began + 5000; stocks.some((stock) => stock !== 42) && performance.now() < end;) {
    await delay(10);
    stocks = await told();
  }
  say('pub/sub', `a new stock in one process: both boards show ${stocks.join(' and ')} without asking`);
  expect(
    stocks.every((stock) => stock === 42),
    'every process hears of a new stock',
  );
}

async function workers(): Promise<void> {
  const count = (shop: string) => send<Stocktaking>('POST', `${shop}/stocktaking`);
  const answers = await Promise.all([count(first), count(second)]);
  const counted = answers.find(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status === 423).length;
  say(
    'workers',
    `two workers count the stock: ${counted?.body.worker} does, for ${counted?.body.afterMs} ms on a lease of 1 s; ${refused} is told 423`,
  );
  expect(counted?.body.finished === true && refused === 1, 'one worker counts at a time, and its lease is renewed');
}

async function frozen(): Promise<void> {
  if (process.env.DEMO_FREEZABLE !== '1')
    return say('frozen Redis', 'left out: Sentinels would replace it, and one of yours is left alone');
  const counting = send<Stocktaking>('POST', `${first}/stocktaking`);
  await delay(100);
  await send('POST', `${second}/redis/freeze`);
  const { body } = await counting;
  say(
    'frozen Redis',
    `the worker is told after ${body.afterMs} ms that its lock may be lost (${body.lost}): it stops in time`,
  );
  expect(!body.finished && body.lost === 'unreachable', 'a worker is told while Redis hangs');
  let again = await send<Stocktaking>('POST', `${second}/stocktaking`);
  for (const end = performance.now() + 10_000; again.status !== 200 && performance.now() < end;) {
    await delay(50);
    again = await send<Stocktaking>('POST', `${second}/stocktaking`);
  }
  say(
    '',
    `and when Redis is back the next one counts, with a higher fence: ${BigInt(again.body.fence) > BigInt(body.fence)}`,
  );
  expect(again.body.finished && BigInt(again.body.fence) > BigInt(body.fence), 'the next holder has a higher fence');
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

async function visits(): Promise<void> {
  const { id } = await newProduct();
  const visitors = ['ada', 'grace', 'ada', 'ada', 'grace'];
  await Promise.all(
    visitors.map((visitor, n) => send('GET', `${n % 2 === 0 ? first : second}/products/${id}`, undefined, visitor)),
  );
  const read = async () =>
    (await send<{ views: BucketCount[]; visitors: UniqueCount }>('GET', `${second}/visits/${id}`)).body;
  // Midnight may come in between.
  const sum = (views: readonly BucketCount[]) => views.reduce((all, { value }) => all + value, 0);
  const counted = await until(read, ({ views }) => sum(views) === visitors.length);
  const today = counted.views.at(-1)!.bucket;
  say(
    'counting',
    `${sum(counted.views)} views in the week up to ${today}, by ${counted.visitors.value} different visitors`,
  );
  expect(sum(counted.views) === visitors.length, 'each view counts');
  expect(counted.visitors.value === 2 && counted.visitors.exact, 'a visitor counts once');
}

/** @param order the last of all orders of the product */
async function sales({ id }: Product, order: Order): Promise<void> {
  const around = async () => (await send<LeaderboardEntry[]>('GET', `${second}/sales/best-sellers/${id}`)).body;
  const mine = (entries: readonly LeaderboardEntry[]) => entries.find(({ member }) => member === String(id));
  const neighbours = await until(around, (entries) => mine(entries)?.score === ORDERS);
  const entry = mine(neighbours);
  say('best sellers', `the product was sold ${entry?.score} times this week, which is rank ${entry?.rank}`);
  expect(entry?.score === ORDERS, 'each order counts once');
  const page = async () => (await send<FeedEntry<Sale>[]>('GET', `${first}/sales/orders`)).body;
  const orders = await until(page, (entries) => entries.some((each) => each.id === order.id));
  const next = (await send<FeedEntry<Sale>[]>('GET', `${first}/sales/orders?before=${orders.at(-1)!.id}`)).body;
  const ids = [...orders, ...next].map((each) => each.id);
  say('feed', `the newest order is one of a ${orders[0]!.item.name}; page by page each one comes once`);
  expect(
    orders.some((each) => each.id === order.id),
    'the order stands in the feed',
  );
  expect(new Set(ids).size === ids.length && next.length > 0, 'the next page goes on where this one ends');
}

/** Reads until it is as wanted, for at most 10 s; what is counted in the background takes a moment. */
async function until<T>(read: () => Promise<T>, wanted: (value: T) => boolean): Promise<T> {
  const deadline = performance.now() + 10_000;
  let value = await read();
  while (!wanted(value) && performance.now() < deadline) {
    await delay(20);
    value = await read();
  }
  return value;
}

async function fulfilment(): Promise<{ lag: StreamLag; deadLetters: (DeadLetter & { body: { orderId: string } })[] }> {
  return (await send<Awaited<ReturnType<typeof fulfilment>>>('GET', `${second}/fulfilment`)).body;
}

async function deadLetter({ id }: Product): Promise<void> {
  await send('PATCH', `${first}/products/${id}`, { stock: 1 });
  await send('POST', `${first}/fulfilment/strike`);
  const { body: order } = await send<Order>('POST', `${first}/orders`, { productId: id }, randomUUID());
  const letterOf = (letters: Awaited<ReturnType<typeof fulfilment>>['deadLetters']) =>
    letters.find(({ body }) => body.orderId === order.id);
  let state = await fulfilment();
  for (const end = performance.now() + 10_000; !letterOf(state.deadLetters) && performance.now() < end;) {
    await delay(20);
    state = await fulfilment();
  }
  await send('DELETE', `${first}/fulfilment/strike`);
  const letter = letterOf(state.deadLetters);
  say(
    'dead letter',
    `during a strike the order is one after ${letter?.attempts} attempts (${letter?.error}); lag ${state.lag.lag}, pending ${state.lag.pending}, retries ${state.lag.retries}`,
  );
  expect(letter?.attempts === 3, 'what fails three times is a dead letter');
  const { body } = await send<{ replayed: number }>('POST', `${second}/fulfilment/replay`);
  say('', `replayed: ${body.replayed}`);
  await fulfilled(order);
}

async function connection(): Promise<void> {
  const { body } = await send<ConnectionStats>('GET', `${first}/redis`);
  const { status, breaker, server, pool } = body;
  say(
    'connection',
    `Redis ${server.version} (${server.maxmemoryPolicy}) is ${status}, the breaker is ${breaker.state}, ${pool.inFlight} calls in flight`,
  );
  expect(status === 'ready' && breaker.state === 'closed', 'the connection is well after all that');
}

async function doctor(): Promise<void> {
  const { body } = await send<DoctorReport>('GET', `${first}/redis/doctor`);
  const { findings, sample, target } = body;
  const worst = findings[0];
  say(
    'doctor',
    `${sample.keys} keys on ${target.nodes.length} masters, ${findings.length} findings, the worst: ${worst?.id} ${worst?.evidence}`,
  );
  expect(sample.keys > 0 && target.unanswered.length === 0, 'the doctor has looked at every master');
}

async function operations(): Promise<void> {
  const text = await (await fetch(`${first}/metrics`)).text();
  const hits = [...text.matchAll(/^redis_patterns_cache_requests_total\{.*outcome="hit".*\} (\d+)$/gm)];
  const total = hits.reduce((sum, [, count]) => sum + Number(count), 0);
  const ready = await send<{ status: string }>('GET', `${first}/health`);
  const live = await send<{ status: string }>('GET', `${first}/health/live`);
  say('operations', `/metrics counts ${total} hits; the shop is ${ready.body.status}, its process ${live.body.status}`);
  expect(total > 0, 'hits are counted');
  // Something may have been missed while Redis was frozen: that is degraded for a minute.
  expect(ready.status === 200 && live.status === 200, 'a load balancer goes on sending requests');
}

try {
  console.log(`A tour of the shop on ${process.env.REDIS_MODE ?? 'Redis'}:`);
  const product = await newProduct();
  await cache(product);
  await stampede();
  await tags();
  await memory(product);
  await writeThrough(product);
  await broadcast(product);
  await rateLimit(product);
  await lockOut();
  await session();
  await replay(product);
  const order = await lastItem(product);
  await fulfilled(order);
  await sales(product, order);
  await visits();
  await deadLetter(product);
  await workers();
  await frozen();
  await connection();
  await doctor();
  await operations();
  console.log('Everything happened as promised.');
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
