// Other locks, each by its defaults: take a key for 30 s, or wait for it as long as they do, and give it back.
import { peer } from '../context.mjs';

const LEASE = 30_000;

/** @typedef {{ name: string, acquire: (key: string) => Promise<() => Promise<unknown>> }} Locker */

/** Those that are installed. @param {import('ioredis').Redis} client @returns {Promise<Locker[]>} */
export async function peerLockers(client) {
  const lockers = await Promise.all([semaphore(client), redlock(client), sesamecare(client), universal(client)]);
  return lockers.filter((each) => each !== undefined);
}

async function semaphore(client) {
  const modules = await peer('redis-semaphore');
  if (!modules) return undefined;
  const [{ Mutex }] = modules;
  return {
    name: 'redis-semaphore',
    acquire: async (key) => {
      const mutex = new Mutex(client, key, { lockTimeout: LEASE });
      await mutex.acquire();
      return () => mutex.release();
    },
  };
}

/** With one node, as the other arms have it. */
async function redlock(client) {
  const modules = await peer('redlock');
  if (!modules) return undefined;
  const [module] = modules;
  const Redlock = module.Redlock ?? module.default.default ?? module.default;
  return quorum('redlock 5', new Redlock([client]));
}

async function sesamecare(client) {
  const modules = await peer('@sesamecare-oss/redlock');
  if (!modules) return undefined;
  const [module] = modules;
  const Redlock = module.Redlock ?? module.default.Redlock;
  return quorum('@sesamecare-oss/redlock', new Redlock([client]));
}

function quorum(name, redlock) {
  redlock.on('error', () => {});
  return {
    name,
    acquire: async (key) => {
      const held = await redlock.acquire([key], LEASE);
      return () => held.release();
    },
  };
}

async function universal(client) {
  const modules = await peer('redlock-universal');
  if (!modules) return undefined;
  const [{ createLock, IoredisAdapter }] = modules;
  const adapter = new IoredisAdapter(client);
  return {
    name: 'redlock-universal',
    acquire: async (key) => {
      const lock = createLock({ adapter, key, ttl: LEASE });
      const held = await lock.acquire();
      return () => lock.release(held);
    },
  };
}
