import { Definitions, ServerClock } from '../buckets/index.js';
import type { EngineContext } from '../connection/index.js';
import type { Key } from '../keys/index.js';
import { resolveUniqueCounter, type UniqueCounterDefinition } from './counting.options.js';
import { UniqueCounter } from './unique-counter.js';

/**
 * How many different ones there were: visitors of a day, readers of a page. What it promises is in docs/counting.md.
 *
 * @example
 * ```ts
 * const visitors = this.unique.counter('visitors', { bucket: 'day', tz: 'Europe/Berlin' });
 * await visitors.add(userId);
 * await visitors.count(); // { value: 1, exact: true }
 * await visitors.countRange({ last: 30 });
 * ```
 */
export class UniqueCounterService {
  readonly #clock = new ServerClock();
  readonly #counters = new Definitions<UniqueCounter>();

  constructor(private readonly context: EngineContext) {}

  /**
   * The unique counter of a name. Whoever uses it gives the same options.
   *
   * @throws InvalidKeyError, InvalidOptionsError
   */
  counter(name: Key, definition: UniqueCounterDefinition = {}): UniqueCounter {
    const key = this.context.keys.main('unique', name);
    const make = (): UniqueCounter =>
      new UniqueCounter(this.context, this.#clock, name, resolveUniqueCounter(definition));
    return this.#counters.of(key, definition, make);
  }
}
