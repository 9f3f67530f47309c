// @ts-check
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Repeats `probe` until it returns something truthy, and returns that. An exception counts as "not yet".
 *
 * @template T
 * @param {string} what the condition in words, for the error message
 * @param {() => Promise<T | false | undefined | null> | T | false | undefined | null} probe
 * @param {{ timeout?: number, interval?: number }} [options] milliseconds; 10 s and 10 ms by default
 * @returns {Promise<T>}
 */
export async function until(what, probe, { timeout = 10_000, interval = 10 } = {}) {
  const end = performance.now() + timeout;
  /** @type {unknown} */
  let last;
  for (;;) {
    try {
      const found = await probe();
      if (found) return /** @type {T} */ (found);
      last = found;
    } catch (error) {
      if (error instanceof GiveUp) throw error.cause;
      last = error;
    }
    if (performance.now() >= end) {
      const seen = last instanceof Error ? last.message : String(last);
      throw new Error(`Waited ${timeout} ms in vain for: ${what} (last seen: ${seen})`, { cause: last });
    }
    await sleep(interval);
  }
}

/** Thrown by a probe that knows that waiting longer is useless; `until` rethrows its cause at once. */
export class GiveUp extends Error {
  /** @param {Error} cause */
  constructor(cause) {
    super(cause.message, { cause });
  }
}
