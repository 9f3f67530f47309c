import { Definitions } from '../buckets/index.js';
import type { EngineContext } from '../connection/index.js';
import type { Key } from '../keys/index.js';
import { BloomFilter } from './bloom-filter.js';
import { resolveBloomFilter, type BloomFilterDefinition } from './counting.options.js';

/**
 * Whether something was there before, in two bytes for each: seen articles, used coupons, names that are taken. On plain bitmaps, without a
 * module of Redis. What it promises is in docs/counting.md.
 *
 * @example
 * ```ts
 * const seen = this.filters.filter(['seen', userId], { capacity: 10_000, errorRate: 0.01 });
 * await seen.add(articleId);
 * await seen.has(articleId); // true; of another one false, or once in a hundred times true
 * ```
 */
export class BloomFilterService {
  readonly #filters = new Definitions<BloomFilter>();

  constructor(private readonly context: EngineContext) {}

  /**
   * The filter of a name. Whoever uses it gives the same capacity and error rate; others are refused by each call.
   *
   * @throws InvalidKeyError, InvalidOptionsError
   */
  filter(name: Key, definition: BloomFilterDefinition): BloomFilter {
    const key = this.context.keys.main('bloom', name);
    const make = (): BloomFilter => {
      const resolved = resolveBloomFilter(definition);
      let warned = false;
      return new BloomFilter(this.context, name, resolved, () => {
        if (!warned) this.#warn(resolved.capacity);
        warned = true;
      });
    };
    return this.#filters.of(key, definition, make);
  }

  #warn(capacity: number): void {
    const message = `A filter with a capacity of ${capacity} holds more: its error rate grows. Make a new one with a larger capacity.`;
    this.context.telemetry.emit('warning', { pattern: 'Bloom filter', code: 'ERR_BLOOM_FULL', message });
  }
}
