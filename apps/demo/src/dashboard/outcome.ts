import { setTimeout as delay } from 'node:timers/promises';

/** Milliseconds that something is waited for which takes a moment. */
const PATIENCE = 10_000;

/** What an experiment came to: in words for people, in figures for programs. */
export interface Outcome {
  readonly words: string;
  readonly figures: Readonly<Record<string, number | string | undefined>>;
}

/** Reads until it is as wanted, or the patience is over. */
export async function until<T>(
  read: () => T | Promise<T>,
  wanted: (value: T) => boolean,
  patience = PATIENCE,
): Promise<T> {
  const deadline = performance.now() + patience;
  let value = await read();
  while (!wanted(value) && performance.now() < deadline) {
    await delay(50);
    value = await read();
  }
  return value;
}

export function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
