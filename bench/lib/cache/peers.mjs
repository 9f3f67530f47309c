// The peers, each in its best configuration for what the scenario asks; one that is not installed is left out.
import { openRaw, peer } from '../context.mjs';

const TTL = 600_000;
const LOAD_TTL = 60_000;

/**
 * @typedef {{ name: string, get: (key: string, factory: () => Promise<unknown>, tags?: string[]) => Promise<any>,
 *   load: (key: string, factory: () => Promise<unknown>) => Promise<any>, invalidate?: (tag: string) => Promise<unknown>,
 *   close: () => unknown }} Peer
 *   `get` is given a factory that makes the value in the set-up, and one that throws when hits are measured
 */

/** What people write by hand: cache-aside, and one running load for each key and process. @param {string} url @returns {Peer} */
export function handWritten(url) {
  const client = openRaw(url);
  const running = /** @type {Map<string, Promise<unknown>>} */ (new Map());
  const fetch = async (key, factory, ttl) => {
    const text = await client.get(key);
    if (text !== null) return JSON.parse(text);
    const shared = running.get(key);
    if (shared) return shared;
    const made = (async () => {
      try {
        const value = await factory();
        await client.set(key, JSON.stringify(value), 'PX', ttl);
        return value;
      } finally {
        running.delete(key);
      }
    })();
    running.set(key, made);
    return made;
  };
  return {
    name: 'hand-written',
    get: (key, factory) => fetch(`hand:${key}`, factory, TTL),
    load: (key, factory) => fetch(`hand:${key}`, factory, LOAD_TTL),
    close: () => client.disconnect(),
  };
}

/** @param {string} url @returns {Promise<Peer | undefined>} */
export async function cacheManager(url) {
  const modules = await peer('cache-manager', 'keyv', '@keyv/redis');
  if (!modules) return undefined;
  const [{ createCache }, { Keyv }, { default: KeyvRedis }] = modules;
  const manager = createCache({ stores: [new Keyv({ store: new KeyvRedis(url), namespace: 'manager' })] });
  return {
    name: 'cache-manager',
    get: (key, factory) => manager.wrap(key, factory, TTL),
    load: (key, factory) => manager.wrap(key, factory, LOAD_TTL),
    close: () => manager.disconnect(),
  };
}

/**
 * @param {string} url
 * @param {{ l1?: object }} [tier] `l1`: options of its memory driver; without it Redis alone
 * @returns {Promise<Peer | undefined>}
 */
export async function bento(url, { l1 } = {}) {
  const modules = await peer('bentocache', 'bentocache/drivers/redis', 'bentocache/drivers/memory');
  if (!modules) return undefined;
  const [{ BentoCache, bentostore }, { redisBusDriver, redisDriver }, { memoryDriver }] = modules;
  const connection = openRaw(url);
  const bus = l1 && openRaw(url);
  let store = bentostore().useL2Layer(redisDriver({ connection }));
  if (l1)
    store = store.useL1Layer(memoryDriver({ maxItems: 10_000, ...l1 })).useBus(redisBusDriver({ connection: bus }));
  // A prefix for each: its memory without serialization cannot take entries that another one has written to Redis.
  const prefix = `bento${l1 ? JSON.stringify(l1) : ''}`;
  const cache = new BentoCache({ default: 'main', prefix, stores: { main: store } });
  return {
    name: 'bentocache',
    get: (key, factory, tags) => cache.getOrSet({ key, factory, ttl: TTL, tags }),
    load: (key, factory) => cache.getOrSet({ key, factory, ttl: LOAD_TTL }),
    invalidate: (tag) => cache.deleteByTag({ tags: [tag] }),
    close: async () => {
      await cache.disconnectAll();
      connection.disconnect();
      bus?.disconnect();
    },
  };
}

/**
 * @param {string} url
 * @param {{ tags?: boolean, l1?: object }} [options] `l1`: options of its memory tier; without it Redis alone
 * @returns {Promise<Peer | undefined>}
 */
export async function cacheable(url, { tags = false, l1 } = {}) {
  const modules = await peer('cacheable', 'keyv', '@keyv/redis');
  if (!modules) return undefined;
  const [{ Cacheable, createKeyv }, { Keyv }, { default: KeyvRedis }] = modules;
  const namespace = `cacheable${tags ? '-tags' : ''}${l1 ? '-l1' : ''}`;
  const redis = new Keyv({ store: new KeyvRedis(url), namespace, useKeyPrefix: false });
  const stores = l1 ? { primary: createKeyv(l1), secondary: redis } : { primary: redis };
  const cache = new Cacheable({ ...stores, tags });
  cache.on('error', (error) => process.stderr.write(`[bench] cacheable: ${error.message}\n`));
  // Its getOrSet takes no tags.
  const withTags = async (key, factory, names) => {
    const found = await cache.get(key);
    if (found !== undefined) return found;
    const value = await factory();
    await cache.set(key, value, { ttl: TTL, tags: names });
    return value;
  };
  return {
    name: 'cacheable',
    get: tags ? withTags : (key, factory) => cache.getOrSet(key, factory, { ttl: TTL }),
    load: (key, factory) => cache.getOrSet(key, factory, { ttl: LOAD_TTL }),
    invalidate: (tag) => cache.tags.invalidateTag(tag),
    close: () => cache.disconnect(),
  };
}

/** Server-assisted client-side caching in the client itself: replies, as text. @param {string} url @returns {Promise<Peer | undefined>} */
export async function clientSideCaching(url) {
  const modules = await peer('@redis/client');
  if (!modules) return undefined;
  const [{ createClient }] = modules;
  const client = createClient({ url, RESP: 3, clientSideCache: { ttl: 0, maxEntries: 10_000, evictPolicy: 'LRU' } });
  client.on('error', () => {});
  await client.connect();
  const get = async (key, factory) => {
    const text = await client.get(`csc:${key}`);
    if (text !== null) return JSON.parse(text);
    const value = await factory();
    await client.set(`csc:${key}`, JSON.stringify(value), { PX: TTL });
    return value;
  };
  return { name: 'node-redis csc', get, load: get, close: () => client.destroy() };
}
