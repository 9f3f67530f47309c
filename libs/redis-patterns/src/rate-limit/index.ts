export {
  definePolicy,
  type BlockOptions,
  type ConcurrencyPolicy,
  type DefinedPolicy,
  type FixedWindowPolicy,
  type OnStoreError,
  type Policy,
  type PolicyOverrides,
  type RateLimitAlgorithm,
  type RequestContext,
  type ResolveContext,
  type ResolvedPolicy,
  type SlidingLogPolicy,
  type SlidingWindowPolicy,
  type SubjectFunction,
  type SubjectSource,
  type TokenBucketPolicy,
} from './policy.js';
export type { AcquireOptions, ConsumeOptions, PeekOptions, RefundOptions } from './call-options.js';
export type { Lease } from './lease.js';
export type { PolicyReference } from './policy-book.js';
export {
  RateLimitExceededError,
  RateLimitLeaseLostError,
  RateLimitSubjectError,
  RateLimitUnavailableError,
} from './rate-limit.errors.js';
export {
  resolveRateLimitOptions,
  type ClientAddressOptions,
  type RateLimitHeaders,
  type RateLimitOptions,
  type ResolvedRateLimitOptions,
} from './rate-limit.options.js';
export type { PolicyResult, RateLimitResult, RateLimitSource } from './rate-limit.result.js';
export { RateLimitService } from './rate-limit.service.js';
export { StoreFailureReporter } from './store-failure.js';
