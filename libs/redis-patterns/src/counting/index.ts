export { BloomFilter, type BloomFilterInfo } from './bloom-filter.js';
export { BloomFilterService } from './bloom-filter.service.js';
export { Counter, type BucketCount } from './counter.js';
export { CounterService, type CounterIncrOptions } from './counter.service.js';
export {
  BloomDataLostError,
  BloomFullError,
  BloomMismatchError,
  UniqueEstimateError,
  UniqueStrategyError,
} from './counting.errors.js';
export type {
  BloomFilterDefinition,
  CounterDefinition,
  CountingOptions,
  UniqueCounterDefinition,
} from './counting.options.js';
export { UniqueCounter, type UniqueCount } from './unique-counter.js';
export { UniqueCounterService } from './unique-counter.service.js';
