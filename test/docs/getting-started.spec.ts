import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fileOf, snippetsOf } from '../../scripts/docs/pages.mjs';
import { freePort } from '../../scripts/servers/ports.mjs';
import { startProgram, type Program } from '../support/child-process.js';
import { eventually } from '../support/eventually.js';
import { startOwn, type Topology } from '../support/topologies.js';

// Below the root, where the packages are found; ignored by version control.
const FOLDER = path.resolve('dist/docs/getting-started');

/** Writes the files of the page as a reader has them at its end. */
async function writeFiles(): Promise<void> {
  await rm(FOLDER, { recursive: true, force: true });
  for (const snippet of snippetsOf('docs/getting-started.md')) {
    const name = fileOf(snippet);
    if (name === undefined) continue;
    const file = path.join(FOLDER, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, snippet.code);
  }
}

describe('the shop of docs/getting-started.md', () => {
  let redis: Topology;
  const programs: Program[] = [];
  let shop = '';
  let other = '';

  async function start(): Promise<string> {
    const url = `http://127.0.0.1:${await freePort()}`;
    const env = { REDIS_URL: redis.url, PORT: new URL(url).port };
    const program = startProgram(pathToFileURL(path.join(FOLDER, 'src/main.ts')), { env });
    programs.push(program);
    await eventually(
      async () => {
        if (!program.running) throw new Error(program.output);
        expect((await fetch(`${url}/status`)).status).toBe(200);
      },
      { timeout: 30_000 },
    );
    return url;
  }
  const post = (url: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const statusOf = async (url: string): Promise<Record<string, number>> =>
    (await (await fetch(`${url}/status`)).json()) as Record<string, number>;

  beforeAll(async () => {
    await writeFiles();
    redis = await startOwn('standalone');
    [shop, other] = await Promise.all([start(), start()]);
  }, 60_000);
  afterAll(async () => {
    await Promise.all(programs.map((program) => program.kill('SIGTERM')));
    await redis?.stop();
  });

  it('loads a product once for all callers of all processes', async () => {
    const urls = [shop, other, shop, other, shop, other];
    const answers = await Promise.all(urls.map(async (url) => (await fetch(`${url}/products/1`)).json()));
    expect(answers).toEqual(urls.map(() => ({ id: 1, name: 'Lamp', stock: 5 })));
    expect((await statusOf(shop)).queries! + (await statusOf(other)).queries!).toBe(1);
    expect((await fetch(`${shop}/products/9`)).status).toBe(404);
  });

  it('places an order once for its key, and the cache has the new stock', async () => {
    const place = () => post(`${shop}/orders`, { productId: 1 }, { 'idempotency-key': 'first-order' });
    const order = await (await place()).json();
    expect(order).toMatchObject({ productId: 1, left: 4 });
    expect(await (await place()).json()).toEqual(order);
    expect(await (await fetch(`${shop}/products/1`)).json()).toMatchObject({ stock: 4 });
  });

  it('sells no piece twice, refuses the eleventh order of a minute, and bills each', async () => {
    const answers = await Promise.all([1, 2, 3, 4].map(() => post(`${shop}/orders`, { productId: 1 })));
    const orders = (await Promise.all(answers.map((answer) => answer.json()))) as { left: number }[];
    expect(orders.map(({ left }) => left).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3]);
    expect((await post(`${shop}/orders`, { productId: 1 })).status).toBe(409);
    // Six have been counted: what is replayed is not.
    const more: number[] = [];
    for (let n = 0; n < 5; n++) more.push((await post(`${shop}/orders`, { productId: 2 })).status);
    expect(more).toEqual([201, 201, 201, 201, 429]);
    await eventually(async () => {
      expect((await statusOf(shop)).bills! + (await statusOf(other)).bills!).toBe(9);
    });
  });

  it('runs the job once for both processes', async () => {
    for (const url of [shop, other, shop]) await post(`${url}/status/clean`, {});
    expect((await statusOf(shop)).jobs! + (await statusOf(other)).jobs!).toBe(1);
  });

  it('answers without Redis as the page says', async () => {
    await redis.kill(await redis.primary());
    expect(await (await fetch(`${shop}/products/2`)).json()).toMatchObject({ name: 'Chair' });
    expect((await post(`${other}/orders`, { productId: 2 }, { 'idempotency-key': 'second-order' })).status).toBe(503);
    expect((await post(`${other}/orders`, { productId: 2 })).status).toBe(500);
  });
});
