import { Definitions, ServerClock, type AtOptions, type BucketRange, type OperationOptions } from '../buckets/index.js';
import type { EngineContext } from '../connection/index.js';
import type { Key } from '../keys/index.js';
import { Counter, type BucketCount } from './counter.js';
import { resolveCounter, type CounterDefinition } from './counting.options.js';

/** Definition and call in one, for counters that are named in one place only. */
export type CounterIncrOptions = CounterDefinition & AtOptions & OperationOptions & { by?: number };

/**
 * Counters, also by hour, day, week and month. What they promise is in docs/counting.md.
 *
 * @example
 * ```ts
 * await this.counters.incr(['views', productId], { bucket: 'day' }); // shop:counter:{views:42}:2026-11-30
 * await this.counters.range(['views', productId], { bucket: 'day', last: 7 });
 * ```
 */
export class CounterService {
  readonly #clock = new ServerClock();
  readonly #counters = new Definitions<Counter>();

  constructor(private readonly context: EngineContext) {}

  /**
   * The counter of a name. Whoever uses it gives the same options.
   *
   * @throws InvalidKeyError, InvalidOptionsError
   */
  counter(name: Key, definition: CounterDefinition = {}): Counter {
    return this.#counter(name, definition, 'CounterService.counter()');
  }

  /** {@link Counter.incr} of the counter with that name. @returns the new count */
  async incr(name: Key, { by, at, opId, ...definition }: CounterIncrOptions = {}): Promise<number> {
    return this.#counter(name, definition, 'CounterService.incr()').incr(by, { at, opId });
  }

  /** {@link Counter.get} of the counter with that name. */
  async get(name: Key, { at, ...definition }: CounterDefinition & AtOptions = {}): Promise<number> {
    return this.#counter(name, definition, 'CounterService.get()').get({ at });
  }

  /** {@link Counter.range} of the counter with that name. */
  async range(name: Key, { last, from, to, ...definition }: CounterDefinition & BucketRange): Promise<BucketCount[]> {
    return this.#counter(name, definition, 'CounterService.range()').range({ last, from, to } as BucketRange);
  }

  #counter(name: Key, definition: CounterDefinition, where: string): Counter {
    const key = this.context.keys.main('counter', name);
    const make = (): Counter => new Counter(this.context, this.#clock, name, resolveCounter(definition, where));
    return this.#counters.of(key, definition, make);
  }
}
