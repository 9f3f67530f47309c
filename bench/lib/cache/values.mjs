// What all arms of the area share: the same payload, the same number of distinct keys, and factories that count as work.
import { readFileSync } from 'node:fs';

export const KEYS = 1000;
/** Set-ups stay far from the limit of calls in flight (`pool.maxInFlight`), also with ten tags. */
const AT_ONCE = 50;

export const payload = JSON.parse(readFileSync(new URL('../../payloads/payloads.json', import.meta.url), 'utf8'))[
  '1KiB'
];

export const load = () => Promise.resolve(payload);

/** The factory of a hit: a benchmark of hits that were misses would measure something else. */
export const missed = () => Promise.reject(new Error('A hit was a miss'));

/** @param {number} count @param {(i: number) => Promise<unknown>} store */
export async function forEachKey(store, count = KEYS) {
  for (let i = 0; i < count; i += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - i) }, (_, offset) => store(i + offset)));
  }
}

/** Throws when a copy is not the payload: once for each arm is enough. @param {any} value @param {any} [expected] */
export function check(value, expected = payload) {
  if (value?.id !== expected.id || JSON.stringify(value) !== JSON.stringify(expected)) {
    throw new Error('A hit gave something else than what was stored');
  }
}
