import { InvalidOptionsError } from '../core/errors.js';
import type { Key } from '../keys/index.js';
import type { Flight } from './flights.js';
import type { CacheLoadContext } from './load-context.js';
import type { LoadWaits } from './load-waits.js';

/** What a loader of many values is given. */
export interface CacheBulkContext {
  /** Aborts when no caller waits any more, or when the application closes. */
  readonly signal: AbortSignal;
}

/** Values by key, a `Map` for example. */
export interface CacheBulkValues<T> {
  has(key: never): boolean;
  get(key: never): T | undefined;
}

/**
 * Makes the values of missing entries. What is absent from the Map, by the key that was given or by its text, is `undefined`.
 */
export type CacheBulkFactory<K extends Key, T> = (
  missing: K[],
  context: CacheBulkContext,
) => CacheBulkValues<T> | Promise<CacheBulkValues<T>>;

interface Asked<K> {
  readonly key: K;
  readonly entryKey: string;
  readonly signal: () => AbortSignal;
  /** The loads that it is asked for. */
  readonly flights: readonly Flight[];
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Turns the factories of many keys into one call: it waits until each of them is either asked for, or known to wait for
 * somebody else's load. Those that are asked for later, after such a wait, are collected turn by turn.
 */
export class Bulk<K extends Key, T> {
  readonly #outstanding: Set<string>;
  /** The caller's order, whatever the order of Redis' answers. */
  readonly #order: readonly string[];
  #asked: Asked<K>[] = [];
  #scheduled = false;

  constructor(
    entryKeys: Iterable<string>,
    private readonly load: CacheBulkFactory<K, T>,
    /** The text of a key by which the Map may have its value. */
    private readonly textOf: (entryKey: string) => string,
    private readonly waits: LoadWaits,
  ) {
    this.#outstanding = new Set(entryKeys);
    this.#order = [...this.#outstanding];
  }

  /** The factory of one key. */
  ask(key: K, entryKey: string, context: CacheLoadContext): Promise<unknown> {
    const flights = this.waits.current();
    return new Promise((resolve, reject) => {
      this.#asked.push({ key, entryKey, signal: () => context.signal, flights, resolve, reject });
      this.settled(entryKey);
      if (this.#outstanding.size === 0) this.#schedule();
    });
  }

  /** The factory of that key is not run, or not yet. */
  settled(entryKey: string): void {
    if (this.#outstanding.delete(entryKey) && this.#outstanding.size === 0) this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#run(this.#inOrder(this.#asked.splice(0)));
    });
  }

  #inOrder(asked: Asked<K>[]): Asked<K>[] {
    if (asked.length < 2) return asked;
    const places = new Map(this.#order.map((entryKey, place) => [entryKey, place]));
    return asked.toSorted((one, other) => places.get(one.entryKey)! - places.get(other.entryKey)!);
  }

  async #run(asked: Asked<K>[]): Promise<void> {
    if (asked.length === 0) return;
    const first = asked[0]!;
    const context: CacheBulkContext = {
      get signal() {
        return first.signal();
      },
    };
    try {
      const keys = asked.map(({ key }) => key);
      const flights = asked.flatMap((one) => one.flights);
      const values = checked(await this.waits.run(flights, () => this.load(keys, context)));
      for (const { key, entryKey, resolve } of asked) {
        resolve(values.get((values.has(key as never) ? key : this.textOf(entryKey)) as never));
      }
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }
}

/** @throws InvalidOptionsError for what is no Map, such as the list that a repository gives */
function checked<Values extends CacheBulkValues<unknown>>(values: Values | undefined | null): Values {
  if (typeof values?.has === 'function' && typeof values.get === 'function') return values;
  const message = 'must give a Map of values by key: new Map(rows.map((row) => [keyOf(row), row]))';
  throw new InvalidOptionsError('CacheService.getOrSetMany', [{ path: 'factory', message }]);
}
