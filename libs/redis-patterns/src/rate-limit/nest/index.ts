export type {
  CountWhen,
  HandlerLimitOptions,
  HandlerPolicy,
  HandlerSubject,
  MethodLimitOptions,
  RateLimitPolicies,
} from './limit-use.js';
export type { RateLimitMessage } from './message-exceptions.js';
export { rateLimitPart } from './module-part.js';
export { RateLimitGuard } from './rate-limit.guard.js';
export { RateLimitHttpException, type RateLimitProblem } from './rate-limit-http.exception.js';
export { RateLimit } from './rate-limit.js';
export { SkipRateLimit } from './skip-rate-limit.js';
