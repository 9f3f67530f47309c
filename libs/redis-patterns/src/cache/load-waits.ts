import { AsyncLocalStorage } from 'node:async_hooks';
import { CacheReentryError } from './cache.errors.js';
import type { Flight, LoadOutcome } from './flights.js';

const NONE: readonly Flight[] = [];

/**
 * Which loads of this process wait for which: known by the async context of their factories. A load that waited for itself,
 * directly or by way of others, would never end, as nothing limits the time of a factory. (Loads of other processes are waited
 * for no longer than `wait`.)
 */
export class LoadWaits {
  readonly #storage = new AsyncLocalStorage<readonly Flight[]>();
  readonly #waitsFor = new WeakMap<Flight, Flight[]>();

  /** Runs the factory of these loads. */
  run<T>(flights: readonly Flight[], factory: () => T): T {
    return this.#storage.run(flights, factory);
  }

  /** No load runs: nobody asks, and while a storage is in use Node.js 20 and 22 call hooks for every promise of the process. */
  rest(): void {
    this.#storage.disable();
  }

  /** The loads that the running code works for. Work that was started in a factory and outlives it works for none. */
  current(): readonly Flight[] {
    const flights = this.#storage.getStore();
    return flights === undefined ? NONE : flights.filter(({ ended }) => !ended);
  }

  /**
   * Waits for a load that runs.
   *
   * @param name of the caller, for the error
   * @throws CacheReentryError if it waits for the caller; what the factory throws; `signal.reason` when the caller gives up
   */
  async wait(flight: Flight, signal: AbortSignal | undefined, name: string, entryKey: string): Promise<LoadOutcome> {
    const waiting = this.current();
    if (waiting.length === 0) return flight.wait(signal);
    if (waiting.some((one) => this.#reaches(flight, one, new Set()))) throw new CacheReentryError(name, entryKey);
    for (const one of waiting) this.#add(one, flight);
    try {
      return await flight.wait(signal);
    } finally {
      for (const one of waiting) this.#remove(one, flight);
    }
  }

  #reaches(from: Flight, target: Flight, seen: Set<Flight>): boolean {
    if (from === target) return true;
    if (from.ended || seen.has(from)) return false;
    seen.add(from);
    return (this.#waitsFor.get(from) ?? NONE).some((next) => this.#reaches(next, target, seen));
  }

  #add(one: Flight, flight: Flight): void {
    const list = this.#waitsFor.get(one);
    if (list === undefined) this.#waitsFor.set(one, [flight]);
    else list.push(flight);
  }

  /** One of them: a factory may wait for the same load several times. */
  #remove(one: Flight, flight: Flight): void {
    const list = this.#waitsFor.get(one)!;
    list.splice(list.indexOf(flight), 1);
  }
}
