// What a visitor may do how often, and who the visitor is.
import { randomUUID } from 'node:crypto';
import type { Order } from '../orders/order.js';
import type { Product } from '../products/product.js';
import { expect, first, say, second, send } from './visitor.js';

export async function rateLimit({ id }: Product): Promise<void> {
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

export async function lockOut(): Promise<void> {
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

export async function session(): Promise<void> {
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

export async function replay({ id }: Product): Promise<void> {
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
