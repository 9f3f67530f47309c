// The ways to call Redis that the area `connections` compares: each gives GET and SET on one socket.
import { openApplication, openRaw, peer } from './context.mjs';

/** What a caller without a gate would write; the same as the library's default `commandTimeout`. */
const DEADLINE = 500;
const PATTERNS_APP = new URL('./nest/patterns-app.js', import.meta.resolve('nestjs-redis-patterns'));

/**
 * @typedef {{ name: string, get: (key: string) => Promise<unknown>, set: (key: string, value: string) => Promise<unknown>,
 *   alone?: (send: () => Promise<unknown>) => Promise<unknown> }} Client `alone` (ours) passes the gate only
 */

/** `raw` has ours' profile but not the gate: the difference between the two is the gate. */
const OPENERS = {
  raw: async (_url, ours) => bare((await ours()).client),
  ours: async (_url, ours) => gated(await ours()),
  ioredis: (url) => ioredis(url),
  'ioredis commandTimeout': (url) => ioredis(url, { commandTimeout: DEADLINE }),
  'ioredis cockatiel': (url) => cockatiel(url),
  'node-redis': (url) => nodeRedis(url),
};

export const CLIENTS = Object.keys(OPENERS);

/**
 * Opens them in one process, where `raw` and `ours` share a socket; peers that are not installed are left out.
 *
 * @param {string} url
 * @param {readonly string[]} names
 * @param {import('@nestjs/common').LogLevel[]} [logged] what the application may print
 * @returns {Promise<{ clients: Client[], close: () => Promise<void> }>}
 */
export async function openClients(url, names, logged) {
  const closers = /** @type {(() => unknown)[]} */ ([]);
  let connection;
  const ours = async () => {
    if (connection) return connection;
    const context = await openApplication(url, {}, logged);
    closers.push(() => context.close());
    const { PatternsApp } = await import(PATTERNS_APP.href);
    connection = context.get(PatternsApp).connection('default');
    return connection;
  };
  const clients = [];
  for (const name of names) {
    const opened = await OPENERS[name](url, ours);
    if (!opened) continue;
    const { close, ...client } = opened;
    clients.push({ name, ...client });
    if (close) closers.push(close);
  }
  return { clients, close: async () => void (await Promise.all(closers.map((close) => close()))) };
}

function bare(client) {
  return { get: (key) => client.get(key), set: (key, value) => client.set(key, value) };
}

function gated(connection) {
  return {
    get: (key) => connection.run({ name: 'bench.get', effect: 'read', key, send: (client) => client.get(key) }),
    set: (key, value) =>
      connection.run({ name: 'bench.set', effect: 'idempotent', key, send: (client) => client.set(key, value) }),
    alone: (send) => connection.run({ name: 'bench.alone', effect: 'read', key: 'bench:alone', send }),
  };
}

function ioredis(url, options) {
  const client = openRaw(url, options);
  // Without a listener ioredis prints every failed attempt to reconnect.
  client.on('error', () => {});
  return { ...bare(client), close: () => client.disconnect() };
}

async function cockatiel(url) {
  const modules = await peer('cockatiel');
  if (!modules) return undefined;
  const [{ circuitBreaker, ConsecutiveBreaker, handleAll, timeout, TimeoutStrategy, wrap }] = modules;
  const policy = wrap(
    circuitBreaker(handleAll, { halfOpenAfter: 1000, breaker: new ConsecutiveBreaker(5) }),
    timeout(DEADLINE, TimeoutStrategy.Aggressive),
  );
  const { get, set, close } = ioredis(url);
  return {
    get: (key) => policy.execute(() => get(key)),
    set: (key, value) => policy.execute(() => set(key, value)),
    close,
  };
}

async function nodeRedis(url) {
  const modules = await peer('@redis/client');
  if (!modules) return undefined;
  const client = modules[0].createClient({ url });
  client.on('error', () => {});
  await client.connect();
  return { ...bare(client), close: () => client.destroy() };
}
