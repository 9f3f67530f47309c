// How long it takes to invalidate a tag, by the number of entries that have it (100 B each). `raw` is what people write by hand:
// a set with the keys of the group, read and unlinked. The others leave the entries where they are.
import { performance } from 'node:perf_hooks';
import { quantile } from '../gate-cost.mjs';
import { round } from '../measure.mjs';
import { forEachKey } from './values.mjs';

const SMALL = { text: 'x'.repeat(90) };
const UNLINK_BATCH = 1000;
const REPEATS = 20;
/** Filling takes peers too long beyond that; their cost does not depend on it either. */
const MOST_FOR_PEERS = 10_000;

/** @param {import('ioredis').Redis} client */
export function rawGroup(client) {
  const text = JSON.stringify(SMALL);
  return {
    name: 'raw set of keys',
    once: true,
    fill: (count) =>
      forEachKey(async (i) => {
        await Promise.all([client.set(`raw:group:${i}`, text, 'EX', 600), client.sadd('raw:group', `raw:group:${i}`)]);
      }, count),
    invalidate: async () => {
      const keys = await client.smembers('raw:group');
      for (let i = 0; i < keys.length; i += UNLINK_BATCH) await client.unlink(...keys.slice(i, i + UNLINK_BATCH));
      await client.unlink('raw:group');
    },
    isGone: async () => (await client.exists('raw:group:0')) === 0,
  };
}

/** @param {any} service */
export function oursGroup(service) {
  return {
    name: 'ours',
    fill: (count) =>
      forEachKey((i) => service.set(['group', i], SMALL, { ttl: '10m', tags: [`group-of-${count}`] }), count),
    invalidate: (count) => service.invalidateTags([`group-of-${count}`]),
    isGone: async () => !(await service.has(['group', 0])),
  };
}

/** @param {import('./peers.mjs').Peer} peer */
export function peerGroup({ name, get, invalidate }) {
  const make = () => Promise.resolve(SMALL);
  return {
    name,
    most: MOST_FOR_PEERS,
    fill: (count) => forEachKey((i) => get(`group-${count}:${i}`, make, [`group-of-${count}`]), count),
    invalidate: (count) => invalidate?.(`group-of-${count}`),
    isGone: async (count) => {
      let loaded = false;
      await get(`group-${count}:0`, () => ((loaded = true), make()), [`group-of-${count}`]);
      return loaded;
    },
  };
}

/** @param {any[]} arms @param {readonly number[]} counts */
export async function invalidations(arms, counts) {
  const rows = [];
  for (const entries of counts) {
    for (const { name, fill, invalidate, isGone, once, most = Infinity } of arms) {
      if (entries > most) continue;
      await fill(entries);
      const times = [];
      for (let i = 0; i < (once ? 1 : REPEATS); i++) {
        const began = performance.now();
        await invalidate(entries);
        times.push(performance.now() - began);
      }
      if (!(await isGone(entries))) throw new Error(`${name}: an entry outlived the invalidation of its tag`);
      rows.push({
        arm: name,
        entries,
        calls: times.length,
        p50Ms: round(quantile(times, 0.5)),
        maxMs: round(Math.max(...times)),
      });
    }
  }
  return rows;
}
