import { setTimeout as delay } from 'node:timers/promises';

/** Reads until it is as wanted, or for `ms`: what happens in the background takes a moment. */
export async function until<T>(read: () => T | Promise<T>, wanted: (value: T) => boolean, ms = 10_000): Promise<T> {
  const deadline = performance.now() + ms;
  let value = await read();
  while (!wanted(value) && performance.now() < deadline) {
    await delay(20);
    value = await read();
  }
  return value;
}
