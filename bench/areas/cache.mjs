// A hit (distinct keys, 1 KiB) and a load, beside GET + JSON.parse and GET + SET written by hand.
import { readFileSync } from 'node:fs';
import { CacheService } from 'nestjs-redis-patterns';
import { openApplication, openRaw, peer } from '../lib/context.mjs';

const KEYS = 1000;
const payload = JSON.parse(readFileSync(new URL('../payloads/payloads.json', import.meta.url), 'utf8'))['1KiB'];

export async function cache(url) {
  const raw = openRaw(url);
  const app = await openApplication(url);
  const service = app.get(CacheService);
  const factory = () => Promise.resolve(payload);
  const missed = () => Promise.reject(new Error('A hit was a miss'));
  const text = JSON.stringify(payload);
  const manager = await cacheManager(url);
  let serial = 0;
  const hit = {
    name: 'hit 1 KiB',
    arms: [
      {
        name: 'raw',
        setup: async () => {
          for (let i = 0; i < KEYS; i++) await raw.set(`raw:hit:${i}`, text, 'EX', 600);
        },
        run: async (i) => JSON.parse(await raw.get(`raw:hit:${i % KEYS}`)),
      },
      {
        name: 'ours',
        setup: async () => {
          for (let i = 0; i < KEYS; i++) await service.set(['hit', i], payload, { ttl: '10m' });
        },
        run: (i) => service.getOrSet(['hit', i % KEYS], missed, { ttl: '10m' }),
      },
      ...(manager
        ? [
            {
              name: 'cache-manager',
              setup: async () => {
                for (let i = 0; i < KEYS; i++) await manager.set(`hit:${i}`, payload, 600_000);
              },
              run: (i) => manager.wrap(`hit:${i % KEYS}`, missed, 600_000),
            },
          ]
        : []),
    ],
  };
  const load = {
    name: 'load 1 KiB',
    arms: [
      {
        name: 'raw',
        run: async () => {
          const key = `raw:load:${serial++}`;
          if ((await raw.get(key)) === null) await raw.set(key, JSON.stringify(await factory()), 'PX', 60_000);
        },
      },
      { name: 'ours', run: () => service.getOrSet(['load', serial++], factory, { ttl: '1m' }) },
      ...(manager ? [{ name: 'cache-manager', run: () => manager.wrap(`load:${serial++}`, factory, 60_000) }] : []),
    ],
  };
  const close = async () => {
    await manager?.disconnect();
    await app.close();
    raw.disconnect();
  };
  return { scenarios: [hit, load], close };
}

async function cacheManager(url) {
  const modules = await peer('cache-manager', 'keyv', '@keyv/redis');
  if (!modules) return undefined;
  const [{ createCache }, { Keyv }, { default: KeyvRedis }] = modules;
  return createCache({ stores: [new Keyv({ store: new KeyvRedis(url) })] });
}
