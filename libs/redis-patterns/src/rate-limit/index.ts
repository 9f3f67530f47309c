export {
  definePolicy,
  type DefinedPolicy,
  type OnStoreError,
  type Policy,
  type RateLimitAlgorithm,
  type RequestContext,
  type ResolvedPolicy,
  type SubjectFunction,
  type SubjectSource,
} from './policy.js';
export type { PolicyReference } from './policy-book.js';
export { RateLimitExceededError, RateLimitSubjectError, RateLimitUnavailableError } from './rate-limit.errors.js';
export {
  resolveRateLimitOptions,
  type RateLimitHeaders,
  type RateLimitOptions,
  type ResolvedRateLimitOptions,
} from './rate-limit.options.js';
export type { PolicyResult, RateLimitResult, RateLimitSource } from './rate-limit.result.js';
export { RateLimitService, type ConsumeOptions } from './rate-limit.service.js';
