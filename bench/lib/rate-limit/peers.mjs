// The peers. All of them count in fixed windows on Redis; one that is not installed is left out.
import { peer } from '../context.mjs';

/**
 * @typedef {{ limit: number, windowMs: number }} Terms
 * @typedef {{ name: string, hit: (subject: string) => Promise<{ admitted: boolean, at?: number }> }} Limiter one unit for each
 *   hit; `at`: server time of the decision, µs, where it is told
 */

/** @param {import('ioredis').Redis} client @param {Terms} terms @param {object} [options] @returns {Promise<Limiter | undefined>} */
export async function flexible(client, { limit, windowMs }, options = {}) {
  const modules = await peer('rate-limiter-flexible');
  if (!modules) return undefined;
  const limiter = new modules[0].RateLimiterRedis({
    storeClient: client,
    points: limit,
    duration: windowMs / 1000,
    keyPrefix: `rlf-${limit}-${windowMs}`,
    ...options,
  });
  return {
    name: 'rate-limiter-flexible',
    hit: (subject) => limiter.consume(subject).then(admission, refusal),
  };
}

const ADMITTED = { admitted: true };
const REFUSED = { admitted: false };
const admission = () => ADMITTED;
/** A refusal is a rejection with what is known of the limit; an error is one as well. */
const refusal = (reason) => {
  if (reason instanceof Error) throw reason;
  return REFUSED;
};

/** The store of express-rate-limit. @param {import('ioredis').Redis} client @param {Terms} terms @returns {Promise<Limiter | undefined>} */
export async function expressStore(client, { limit, windowMs }) {
  const modules = await peer('rate-limit-redis');
  if (!modules) return undefined;
  const store = new modules[0].RedisStore({
    sendCommand: (command, ...args) => client.call(command, ...args),
    prefix: `rlr-${limit}-${windowMs}:`,
  });
  await store.init({ windowMs });
  return {
    name: 'rate-limit-redis',
    hit: async (subject) => ({ admitted: (await store.increment(subject)).totalHits <= limit }),
  };
}

/** @param {import('ioredis').Redis} client @param {Terms} terms @returns {Promise<Limiter | undefined>} */
export async function nestLab(client, { limit, windowMs }, throttlerName = 'default') {
  const modules = await peer('@nest-lab/throttler-storage-redis');
  if (!modules) return undefined;
  const storage = new modules[0].ThrottlerStorageRedisService(client);
  return {
    name: 'nest-lab',
    // A block as long as the window is the default of @nestjs/throttler.
    hit: async (subject) => {
      const { isBlocked } = await storage.increment(subject, windowMs, limit, windowMs, throttlerName);
      return { admitted: !isBlocked };
    },
  };
}

/** @template T @param {(T | undefined)[]} opened @returns {T[]} */
export const installed = (opened) => /** @type {T[]} */ (opened.filter((one) => one !== undefined));
