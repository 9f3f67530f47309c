import type { Product } from '../products/product.js';

/** Two shops on one Redis, or one that is both. */
export const [first = '', second = first] = (
  process.env.DEMO_URLS ??
  process.env.DEMO_URL ??
  'http://127.0.0.1:3000'
).split(',');

/** Orders that the tour places on its product: ten that pass the limit, one with a key, and the last item. */
export const ORDERS = 12;
/** Milliseconds that the shop's database takes at least: what is faster came from the cache. */
export const SLOWNESS = 290;

interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
  readonly ms: number;
}

export async function send<Body>(
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

export function expect(condition: boolean, wanted: string): void {
  if (!condition) throw new Error(`Expected that ${wanted}`);
}

export function say(step: string, text: string): void {
  console.log(`  ${step.padEnd(16)} ${text}`);
}

/** One of its own, which nobody has read or bought: the shop's Redis may have seen tours before. */
export async function newProduct(): Promise<Product> {
  const { status, body } = await send<Product>('POST', `${first}/products`, { name: 'Kettle', price: 89, stock: 100 });
  expect(status === 201, 'the shop takes a new product');
  return body;
}
