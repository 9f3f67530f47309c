import { RedisPatternsError } from '../core/index.js';

/** A Bloom filter was made with another capacity or error rate. Nothing was read or written. Code `ERR_BLOOM_MISMATCH`. */
export class BloomMismatchError extends RedisPatternsError {
  constructor() {
    super(
      'ERR_BLOOM_MISMATCH',
      'The Bloom filter was made with another capacity or errorRate; give the same everywhere, or another name',
    );
  }
}

/** A part of a Bloom filter is gone, by eviction or by hand, so that it would deny what it held. Code `ERR_BLOOM_DATA_LOST`. */
export class BloomDataLostError extends RedisPatternsError {
  constructor() {
    super(
      'ERR_BLOOM_DATA_LOST',
      'A part of the Bloom filter is gone, and what it said could be wrong; clear() it and add everything again, on a Redis that evicts nothing',
    );
  }
}

/** A Bloom filter with `onFull: 'error'` holds as many items as it was made for. Nothing was added. Code `ERR_BLOOM_FULL`. */
export class BloomFullError extends RedisPatternsError {
  constructor() {
    super(
      'ERR_BLOOM_FULL',
      'The Bloom filter holds as many items as its capacity; make a new one with a larger capacity',
    );
  }
}

/** Whether an id was counted is known only while a count is exact. Code `ERR_UNIQUE_ESTIMATE`. */
export class UniqueEstimateError extends RedisPatternsError {
  constructor() {
    super(
      'ERR_UNIQUE_ESTIMATE',
      "The count is an estimate, which does not know its ids; use strategy 'set', a higher exactLimit, or a Bloom filter",
    );
  }
}

/** Ids were counted with another `strategy`, or a part of the count is gone: it would be wrong. Code `ERR_UNIQUE_STRATEGY`. */
export class UniqueStrategyError extends RedisPatternsError {
  constructor() {
    super(
      'ERR_UNIQUE_STRATEGY',
      'The ids were counted with another strategy, or a part of them was evicted; give the same strategy everywhere, or another name',
    );
  }
}
