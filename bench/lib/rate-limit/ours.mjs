// The library as an application has it, with one policy for each algorithm.
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimitService, RedisPatternsModule } from 'nestjs-redis-patterns';
import { RedisThrottlerModule, RedisThrottlerStorage } from 'nestjs-redis-patterns/throttler';

/** A machine with other work stalls for longer than the default; a decision without Redis is not what is measured. */
const DEADLINE = '5s';

/** @param {number} limit @param {number} windowMs */
export function policiesOf(limit, windowMs) {
  const terms = { limit, window: windowMs };
  return {
    fixed: { algorithm: 'fixed-window', ...terms },
    sliding: { algorithm: 'sliding-window', ...terms },
    bucket: { algorithm: 'token-bucket', ...terms },
    // The log is the one whose memory grows with the limit, so it has a highest one.
    log: { algorithm: 'sliding-log', limit: Math.min(limit, 10_000), window: windowMs },
  };
}

/**
 * @param {string} url
 * @param {string} name of the namespace
 * @param {object} rateLimit its options
 */
export async function openLimits(url, name, rateLimit) {
  class App {}
  const patterns = RedisPatternsModule.forRoot({
    namespace: `bench-${name}`,
    connection: url,
    rateLimit: { deadline: DEADLINE, ...rateLimit },
  });
  Module({ imports: [patterns, RedisThrottlerModule] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] });
  return { service: app.get(RateLimitService), storage: app.get(RedisThrottlerStorage), close: () => app.close() };
}

/** @param {any} service @param {string} policy @returns {import('./peers.mjs').Limiter} */
export function oursBy(service, policy, name = `ours ${policy}`) {
  return {
    name,
    hit: async (subject) => {
      const { allowed, source, at } = await service.consume(policy, subject);
      if (source !== 'redis') throw new Error(`A decision was made without Redis (${source})`);
      return { admitted: allowed, at };
    },
  };
}

/** @param {any} storage @param {import('./peers.mjs').Terms} terms @returns {import('./peers.mjs').Limiter} */
export function oursStorage(storage, { limit, windowMs }) {
  return {
    name: 'ours storage',
    hit: async (subject) => {
      const { isBlocked } = await storage.increment(subject, windowMs, limit, windowMs, 'default');
      return { admitted: !isBlocked };
    },
  };
}
