// What one session and one token take in Redis: all of their keys, as MEMORY USAGE says.
import { DATA, wholeSession } from './stores.mjs';

const ENTRIES = 100;

/** @param {import('ioredis').Redis} client @param {Awaited<ReturnType<typeof import('./stores.mjs').openOurs>>} ours @param {import('./stores.mjs').Store[]} stores */
export async function bytesOfOne(client, { sessions, tokens }, stores) {
  const id = 'bytes-of-one-session';
  await client.set(`bench-bytes:${id}`, JSON.stringify(DATA), 'PX', 60_000);
  const rows = [{ arm: 'raw JSON', what: 'session', ...(await bytesOf(client, [`bench-bytes:${id}`])) }];
  const alone = await sessions.create(DATA);
  rows.push({ arm: 'ours', what: 'session', ...(await bytesOf(client, [`bench:session:${alone.session.handle}`])) });
  for (const store of stores) {
    const before = new Set(await keysOf(client));
    await store.set(id, wholeSession());
    const added = (await keysOf(client)).filter((key) => !before.has(key));
    rows.push({ arm: store.name, what: 'session', ...(await bytesOf(client, added)) });
    await store.destroy(id);
  }
  const principal = 'bytes';
  for (let n = 0; n < ENTRIES; n++) await sessions.create({}, { principal });
  const index = await bytesOf(client, [`bench:session-principal:${principal}`]);
  rows.push({ arm: 'ours', what: 'index entry', keys: 0, bytes: Math.round(index.bytes / ENTRIES) });
  await client.set('bench-bytes:token:0123456789012345678901234567890123456789012', '{"userId":4711}', 'PX', 60_000);
  const rawToken = ['bench-bytes:token:0123456789012345678901234567890123456789012'];
  rows.push({ arm: 'raw', what: 'token', ...(await bytesOf(client, rawToken)) });
  const before = new Set(await keysOf(client));
  await tokens.issue('bytes', { userId: 4711 });
  const added = (await keysOf(client)).filter((key) => !before.has(key));
  rows.push({ arm: 'ours', what: 'token', ...(await bytesOf(client, added)) });
  await sessions.destroyAllOf(principal);
  return rows;
}

async function keysOf(client) {
  const keys = [];
  for await (const found of client.scanStream({ match: 'bench*', count: 1000 })) keys.push(...found);
  return [...new Set(keys)];
}

async function bytesOf(client, keys) {
  const sizes = await Promise.all(keys.map((key) => client.call('MEMORY', 'USAGE', key, 'SAMPLES', '0')));
  return { keys: keys.length, bytes: sizes.reduce((sum, size) => sum + Number(size), 0) };
}
