// Hits in the memory of the process, filled by reads. `raw` is GET + JSON.parse: what such a hit saves.
import { blockSlice } from './slices.mjs';
import { check, forEachKey, KEYS, missed, payload } from './values.mjs';

/** About 16 KiB. */
export const large = { ...payload, notes: Array.from({ length: 16 }, () => payload.notes).flat() };

/**
 * @param {string} name
 * @param {(key: string, i: number, factory: () => Promise<unknown>) => Promise<any>} get
 * @param {any} value
 */
function memoryHit(name, get, value) {
  const make = () => Promise.resolve(value);
  const keys = Array.from({ length: KEYS }, (_, i) => `memory-${value === large ? 'large' : 'small'}:${i}`);
  return {
    name,
    setup: async () => {
      // The first call stores, the second one reads what the memory keeps.
      for (const factory of [make, missed]) await forEachKey((i) => get(keys[i], i, factory));
      check(await get(keys[0], 0, missed), value);
    },
    slice: blockSlice((i) => get(keys[i % KEYS], i % KEYS, missed)),
  };
}

/** @param {import('ioredis').Redis} client */
export function rawHitOf(client, value = payload) {
  const text = JSON.stringify(value);
  const prefix = value === large ? 'raw:large' : 'raw:hit';
  return {
    name: 'raw',
    setup: () => forEachKey((i) => client.set(`${prefix}:${i}`, text, 'EX', 600)),
    slice: blockSlice(async (i) => JSON.parse(/** @type {string} */ (await client.get(`${prefix}:${i % KEYS}`)))),
  };
}

/** @param {any} service @param {string} name */
export function oursInMemory(service, name, value = payload) {
  const family = value === large ? 'large' : 'small';
  return memoryHit(name, (_, i, factory) => service.getOrSet([family, i], factory, { ttl: '10m' }), value);
}

/** @param {import('./peers.mjs').Peer} peer @param {string} name */
export function peerInMemory({ get }, name, value = payload) {
  return memoryHit(name, (key, _, factory) => get(key, factory), value);
}
