// One at a time.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Order } from '../orders/order.js';
import type { Product } from '../products/product.js';
import type { Stocktaking } from '../stocktaking/stocktaking.js';
import { expect, first, say, second, send } from './visitor.js';
import { until } from '../until.js';

export async function lastItem({ id }: Product): Promise<Order> {
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

export async function workers(): Promise<void> {
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

export async function frozen(): Promise<void> {
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
  const count = () => send<Stocktaking>('POST', `${second}/stocktaking`);
  const again = await until(count, ({ status }) => status === 200);
  say(
    '',
    `and when Redis is back the next one counts, with a higher fence: ${BigInt(again.body.fence) > BigInt(body.fence)}`,
  );
  expect(again.body.finished && BigInt(again.body.fence) > BigInt(body.fence), 'the next holder has a higher fence');
}
