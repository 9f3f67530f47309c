// What others hear, do later and count.
import { randomUUID } from 'node:crypto';
import type {
  BucketCount,
  DeadLetter,
  FeedEntry,
  LeaderboardEntry,
  StreamLag,
  UniqueCount,
} from 'nestjs-redis-patterns';
import type { Order } from '../orders/order.js';
import type { Product } from '../products/product.js';
import type { Sale } from '../sales/sales.service.js';
import { expect, first, newProduct, ORDERS, say, second, send } from './visitor.js';
import { until } from '../until.js';

export async function broadcast({ id }: Product): Promise<void> {
  await send('PATCH', `${first}/products/${id}`, { stock: 42 });
  const told = async () =>
    Promise.all(
      [first, second].map(async (shop) => (await send<{ stock?: number }>('GET', `${shop}/stock/${id}`)).body.stock),
    );
  const stocks = await until(told, (shown) => shown.every((stock) => stock === 42), 5000);
  say('pub/sub', `a new stock in one process: both boards show ${stocks.join(' and ')} without asking`);
  expect(
    stocks.every((stock) => stock === 42),
    'every process hears of a new stock',
  );
}

export async function fulfilled(order: Order): Promise<void> {
  const began = performance.now();
  const read = async () => (await send<Order>('GET', `${second}/orders/${order.id}`)).body.status;
  const status = await until(read, (found) => found === 'fulfilled');
  say('stream', `order ${order.id} is ${status}, ${(performance.now() - began).toFixed(0)} ms after it was placed`);
  expect(status === 'fulfilled', 'the order is fulfilled by a consumer');
}

async function fulfilment(): Promise<{ lag: StreamLag; deadLetters: (DeadLetter & { body: { orderId: string } })[] }> {
  return (await send<Awaited<ReturnType<typeof fulfilment>>>('GET', `${second}/fulfilment`)).body;
}

export async function deadLetter({ id }: Product): Promise<void> {
  await send('PATCH', `${first}/products/${id}`, { stock: 1 });
  await send('POST', `${first}/fulfilment/strike`);
  const { body: order } = await send<Order>('POST', `${first}/orders`, { productId: id }, randomUUID());
  const letterOf = (letters: Awaited<ReturnType<typeof fulfilment>>['deadLetters']) =>
    letters.find(({ body }) => body.orderId === order.id);
  const state = await until(fulfilment, ({ deadLetters }) => letterOf(deadLetters) !== undefined);
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

/** Three parcels, scanned in order; each is held up on its way, and none holds up another. */
export async function journeys(): Promise<void> {
  const way = ['packed', 'depot', 'customs', 'courier', 'delivered'];
  const parcels = [1, 2, 3].map(() => randomUUID());
  await Promise.all(
    parcels.map((id, n) => send('POST', `${n % 2 === 0 ? first : second}/parcels/${id}/scans`, { places: way })),
  );
  const look = async (id: string) => (await send<{ places: string[] }>('GET', `${second}/parcels/${id}`)).body.places;
  const read = async () => Promise.all(parcels.map(look));
  const found = await until(read, (ways) => ways.every(({ length }) => length === way.length));
  const straight = found.filter((places) => places.join() === way.join());
  say('order by key', `${straight.length} parcels went ${way.join(' > ')}, each after a second attempt at customs`);
  expect(straight.length === parcels.length, 'what happens to a parcel is noted once, and in its order');
}

export async function visits(): Promise<void> {
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
export async function sales({ id }: Product, order: Order): Promise<void> {
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
