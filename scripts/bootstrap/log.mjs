// @ts-check
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the repository. */
export const ROOT = path.resolve(fileURLToPath(new URL('../..', import.meta.url)));

/**
 * Progress goes to standard error: standard output belongs to the program (`bench --json` prints nothing else).
 *
 * @param {string} topic
 * @param {string} line
 */
export function progress(topic, line) {
  process.stderr.write(`[${topic}] ${line}\n`);
}

/** A failure that the message explains completely: printed without a stack. */
export class ExpectedError extends Error {
  expected = true;
}

/**
 * Says every few seconds that something is still going on.
 *
 * @template T
 * @param {string} topic
 * @param {string} what
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withHeartbeat(topic, what, work) {
  const began = performance.now();
  const seconds = () => Math.round((performance.now() - began) / 1000);
  progress(topic, `${what} …`);
  const timer = setInterval(() => progress(topic, `${what} … ${seconds()} s`), 5000);
  try {
    const result = await work();
    progress(topic, `${what}: done in ${seconds()} s`);
    return result;
  } finally {
    clearInterval(timer);
  }
}
