// What happens to those who wait: how long a hand-off takes, how long a crowd needs, and whether all get their share.
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { round } from '../measure.mjs';

/** @typedef {import('./peers.mjs').Locker} Locker */

const CROWD = 20;
const HOLD_MS = 5;
const WORKERS = 50;
/** For each round that is measured. */
const WARM_UP_MS = 400;

/**
 * From the release by one process' client to the grant to another that waits, beside the round trip of that moment.
 *
 * @param {readonly [Locker, Locker]} pair the same locks on two connections
 * @param {() => Promise<unknown>} ping
 * @param {number} times
 */
export async function handOff([holder, waiter], ping, times) {
  const waits = [];
  const trips = [];
  for (let n = 0; n < times; n++) {
    const release = await holder.acquire('hand-off');
    let granted = 0;
    const waiting = waiter.acquire('hand-off').then((own) => {
      granted = performance.now();
      return own();
    });
    await pause(20);
    const before = performance.now();
    await ping();
    trips.push(performance.now() - before);
    const began = performance.now();
    await release();
    await waiting;
    waits.push(granted - began);
  }
  const [p50, p99, trip] = [at(waits, 0.5), at(waits, 0.99), at(trips, 0.5)];
  return {
    arm: holder.name,
    p50Ms: round(p50),
    p99Ms: round(p99),
    roundTripMs: round(trip),
    barMs: round(2 * trip + 1),
  };
}

/** Twenty callers want the same key at once, and each holds it for 5 ms. @param {Locker} locker @param {number} n */
export async function crowd(locker, n) {
  const began = performance.now();
  const results = await Promise.allSettled(
    Array.from({ length: CROWD }, async () => {
      const release = await locker.acquire(`crowd:${n}`);
      await hold(HOLD_MS);
      await release();
    }),
  );
  const ms = performance.now() - began;
  const failed = results.filter(({ status }) => status === 'rejected').length;
  return { arm: locker.name, ms, failed };
}

/** @param {Locker} locker @param {number} rounds */
export async function crowds(locker, rounds) {
  // Code that has run a few times is not compiled for speed yet.
  for (const end = performance.now() + rounds * WARM_UP_MS; performance.now() < end;) await crowd(locker, -1);
  const runs = [];
  for (let n = 0; n < rounds; n++) runs.push(await crowd(locker, n));
  const { ms } = runs.toSorted((a, b) => a.ms - b.ms)[Math.floor(rounds / 2)] ?? { ms: 0 };
  const failed = Math.max(...runs.map((run) => run.failed));
  return { arm: locker.name, waiters: CROWD, totalMs: round(ms), timesIdeal: round(ms / (CROWD * HOLD_MS)), failed };
}

/**
 * Jain's index of the turns that 50 workers get which all want the same key all the time: 1 is equal shares.
 *
 * @param {Locker} locker
 * @param {number} ms
 */
export async function fairness(locker, ms) {
  const end = performance.now() + ms;
  let failed = 0;
  const turns = await Promise.all(
    Array.from({ length: WORKERS }, async () => {
      let own = 0;
      while (performance.now() < end) {
        try {
          const release = await locker.acquire('fairness');
          own++;
          await release();
        } catch {
          failed++;
        }
      }
      return own;
    }),
  );
  const sum = turns.reduce((total, own) => total + own, 0);
  const squares = turns.reduce((total, own) => total + own * own, 0);
  const index = squares === 0 ? 0 : (sum * sum) / (WORKERS * squares);
  return {
    arm: locker.name,
    workers: WORKERS,
    turnsPerSecond: Math.round((sum * 1000) / ms),
    jain: round(index),
    failed,
  };
}

/** A timer is late by up to a millisecond or more: the rest is spent in turns of the event loop. @param {number} ms */
async function hold(ms) {
  const end = performance.now() + ms;
  await pause(Math.max(0, ms - 2));
  while (performance.now() < end) await nextTurn();
}

/** @param {readonly number[]} values @param {number} share */
function at(values, share) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
}
