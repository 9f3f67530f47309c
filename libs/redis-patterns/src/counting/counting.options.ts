import { z } from 'zod';
import { bucketShape, type BucketOptions } from '../buckets/index.js';
import { durationSchema, InvalidOptionsError, parseOptions, type Duration } from '../core/index.js';
import { bloomShape } from './bloom-shape.js';

/** What makes a unique counter; the same for all who use it. */
export interface UniqueCounterDefinition extends BucketOptions {
  /**
   * In what ids are counted: `'auto'` (default) exactly up to `exactLimit`, then as an estimate of ±0.81 % (standard error) in 12 KB; `'set'`
   * always exactly, in about 50 bytes for each id; `'hll'` always as the estimate.
   */
  strategy?: 'auto' | 'set' | 'hll';
  /** With `'auto'`: largest count that is kept exactly, 1 to 100 000. Default 4096. */
  exactLimit?: number;
  /** How long it lives after the last call that adds; with buckets after the end of its bucket. Default 90 d. */
  ttl?: Duration;
}

/** What makes a counter; the same for all who use it. */
export interface CounterDefinition extends BucketOptions {
  /** How long it lives after the last call that adds; with buckets after the end of its bucket. Default 90 d. */
  ttl?: Duration;
}

/** What makes a Bloom filter; the same for all who use it. */
export interface BloomFilterDefinition {
  /** How many items it is made for. */
  capacity: number;
  /** How often it may say that an item is in it that is not, once it is full: above 0 and below 1, such as 0.01. */
  errorRate: number;
  /** How long it lives from the first item on. Default 30 d. */
  ttl?: Duration;
  /** Above its capacity: warn once and let the error rate grow (`'warn'`, default), or refuse new items (`'error'`). */
  onFull?: 'warn' | 'error';
}

/** Options of `counting` in `RedisPatternsOptions`. */
export interface CountingOptions {
  /** Name of the connection. Default `'default'`. */
  connection?: string;
}

/** Parsed {@link CountingOptions}. */
export interface ResolvedCountingOptions {
  readonly connection?: string | undefined;
}

const ttl = durationSchema({ min: 1 });
/** Of 8 MiB each. */
const MOST_CHUNKS = 64;
const limitRule = 'must be an integer from 1 to 100 000';
const capacityRule = 'must be an integer from 1 to 1 000 000 000';
const rateRule = 'must be a number above 0 and below 1, such as 0.01';

const schema = z.strictObject({ connection: z.string().optional() });

const uniqueSchema = z.strictObject({
  ...bucketShape,
  strategy: z.enum(['auto', 'set', 'hll'], "must be 'auto', 'set' or 'hll'").default('auto'),
  exactLimit: z.int(limitRule).min(1, limitRule).max(1e5, limitRule).default(4096),
  ttl: ttl.prefault('90d'),
});
const counterSchema = z.strictObject({ ...bucketShape, ttl: ttl.prefault('90d') });
const bloomSchema = z.strictObject({
  capacity: z.int(capacityRule).min(1, capacityRule).max(1e9, capacityRule),
  errorRate: z.number(rateRule).gt(0, rateRule).lt(1, rateRule),
  ttl: ttl.prefault('30d'),
  onFull: z.enum(['warn', 'error'], "must be 'warn' or 'error'").default('warn'),
});

export type ResolvedUniqueCounter = z.output<typeof uniqueSchema>;
export type ResolvedCounter = z.output<typeof counterSchema>;
export type ResolvedBloomFilter = z.output<typeof bloomSchema>;

/** @throws InvalidOptionsError */
export function resolveCountingOptions(raw: unknown, where: string): ResolvedCountingOptions {
  return parseOptions(schema, raw ?? {}, where, 'counting');
}

/** @throws InvalidOptionsError */
export function resolveUniqueCounter(raw: unknown): ResolvedUniqueCounter {
  return parseOptions(uniqueSchema, raw, 'UniqueCounterService.counter()');
}

/** @throws InvalidOptionsError */
export function resolveCounter(raw: unknown, where: string): ResolvedCounter {
  return parseOptions(counterSchema, raw, where);
}

/** @throws InvalidOptionsError */
export function resolveBloomFilter(raw: unknown): ResolvedBloomFilter {
  const where = 'BloomFilterService.filter()';
  const definition = parseOptions(bloomSchema, raw, where);
  if (bloomShape(definition.capacity, definition.errorRate).chunks <= MOST_CHUNKS) return definition;
  const message = 'takes more than 512 MiB with this errorRate; give a smaller one, or several filters';
  throw new InvalidOptionsError(where, [{ path: 'capacity', message }]);
}
