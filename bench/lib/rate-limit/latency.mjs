// Three limits of one subject where a round trip takes time: all in one call, or one call for each as the guard of @nestjs/throttler
// makes them, one after the other.
import { startProxy } from '../../../scripts/servers/index.mjs';
import { openRaw } from '../context.mjs';
import { measureScenario } from '../measure.mjs';
import { openLimits } from './ours.mjs';
import { installed, nestLab } from './peers.mjs';
import { timesArm } from './times.mjs';

/** In each direction, so that a round trip takes two milliseconds more. */
const LATENCY_MS = 1;
const SUBJECTS = 1000;
const BASE = 'three calls of the storage';
/** Equal work: the storage keeps a log as well. */
const LIMITS = [
  { throttlerName: 'second', ttl: 1000, limit: 10_000, blockDuration: 1000 },
  { throttlerName: 'minute', ttl: 60_000, limit: 10_000, blockDuration: 60_000 },
  { throttlerName: 'hour', ttl: 3_600_000, limit: 10_000, blockDuration: 3_600_000 },
];

/** @param {string} url @param {import('../measure.mjs').Plan} plan @param {any} countCommands */
export async function threeLimits(url, plan, countCommands) {
  const { hostname, port } = new URL(url);
  const proxy = await startProxy({ host: hostname, port: Number(port) });
  const client = openRaw(proxy.url);
  const policies = Object.fromEntries(
    LIMITS.map(({ throttlerName, ttl, limit }) => [throttlerName, { algorithm: 'sliding-log', limit, window: ttl }]),
  );
  const ours = await openLimits(proxy.url, 'latency', { policies });
  const stores = await Promise.all(
    LIMITS.map(({ ttl, limit, throttlerName }) => nestLab(client, { limit, windowMs: ttl }, throttlerName)),
  );
  const arms = installed([
    consumeAll(ours.service),
    incrementAll(ours.storage),
    incrementEach(ours.storage),
    stores[0] && hitEach(stores),
  ]);
  await proxy.set('latency', { ms: LATENCY_MS });
  const rows = await measureScenario('rate-limit', { name: 'three limits, 2 ms away', arms }, plan, countCommands);
  await ours.close();
  client.disconnect();
  await proxy.close();
  return timesArm(rows, BASE, 'timesThreeCalls');
}

const subject = (i) => `latency:${i % SUBJECTS}`;
const check = (admitted) => {
  if (!admitted) throw new Error('A call below the limit was refused');
};

function consumeAll(service) {
  const names = LIMITS.map(({ throttlerName }) => throttlerName);
  return {
    name: 'one call of the service',
    run: async (i) => {
      const { allowed, source } = await service.consume(names, subject(i));
      check(allowed && source === 'redis');
    },
  };
}

function incrementAll(storage) {
  return {
    name: 'one call of the storage',
    run: async (i) => {
      const records = await storage.incrementAll(LIMITS.map((limit) => ({ ...limit, key: `all:${subject(i)}` })));
      check(records.every(({ isBlocked }) => !isBlocked));
    },
  };
}

function incrementEach(storage) {
  return {
    name: BASE,
    run: async (i) => {
      for (const { ttl, limit, blockDuration, throttlerName } of LIMITS)
        check(!(await storage.increment(subject(i), ttl, limit, blockDuration, throttlerName)).isBlocked);
    },
  };
}

function hitEach(stores) {
  return {
    name: 'three calls of nest-lab',
    run: async (i) => {
      for (const { hit } of stores) check((await hit(subject(i))).admitted);
    },
  };
}
