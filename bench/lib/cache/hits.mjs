// Scenarios: hits in Redis, with and without tags, and loads.
import { gateCost } from '../gate-cost.mjs';
import { check, forEachKey, KEYS, load, missed, payload } from './values.mjs';

const text = JSON.stringify(payload);

/** @param {import('ioredis').Redis} client */
export function rawHit(client) {
  return {
    name: 'raw',
    setup: () => forEachKey((i) => client.set(`raw:hit:${i}`, text, 'EX', 600)),
    run: async (i) => JSON.parse(/** @type {string} */ (await client.get(`raw:hit:${i % KEYS}`))),
  };
}

/** @param {any} service @param {string[]} [tags] */
export function oursHit(service, tags, name = 'ours') {
  const family = `hit${tags?.length ?? ''}`;
  return {
    name,
    setup: async () => {
      await forEachKey((i) => service.getOrSet([family, i], load, { ttl: '10m', tags }));
      check(await service.getOrSet([family, 0], missed, { ttl: '10m', tags }));
    },
    run: (i) => service.getOrSet([family, i % KEYS], missed, { ttl: '10m', tags }),
  };
}

/** @param {import('./peers.mjs').Peer} peer @param {string[]} [tags] */
export function peerHit({ name, get }, tags) {
  const family = `hit${tags?.length ?? ''}`;
  return {
    name,
    setup: async () => {
      await forEachKey((i) => get(`${family}:${i}`, load, tags));
      check(await get(`${family}:0`, missed, tags));
    },
    run: (i) => get(`${family}:${i % KEYS}`, missed, tags),
  };
}

/** @param {number} count */
export const tagNames = (count) => Array.from({ length: count }, (_, i) => `group-${i}`);

/** Every call has a key of its own, that no call has had before. */
export function loads(client, service, peers) {
  let serial = 0;
  const run = `${process.pid}-${Date.now()}`;
  const raw = async () => {
    const key = `raw:load:${run}:${serial++}`;
    if ((await client.get(key)) === null) await client.set(key, JSON.stringify(await load()), 'PX', 60_000);
  };
  return [
    { name: 'raw', run: raw },
    { name: 'ours', run: () => service.getOrSet(['load', run, serial++], load, { ttl: '1m' }) },
    ...peers.map((peer) => ({ name: peer.name, run: () => peer.load(`load:${run}:${serial++}`, load) })),
  ];
}

/** CPU beyond raw. */
export async function hitCost([raw, ...arms], callers, repeats) {
  for (const arm of [raw, ...arms]) await arm.setup();
  const started = (arm) => {
    let i = 0;
    return { name: arm.name, run: () => arm.run(i++) };
  };
  const base = started(raw);
  const rows = [];
  for (const count of callers) {
    const all = [{ ...base, name: 'raw against itself' }, ...arms.map(started)];
    rows.push(...(await gateCost(base, all, count, repeats)));
  }
  return rows;
}
