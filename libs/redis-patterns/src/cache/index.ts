export type { CacheBulkContext, CacheBulkFactory, CacheBulkValues } from './bulk.js';
export {
  CachedLoadError,
  CacheInvalidationError,
  CacheLoadTimeoutError,
  CacheReentryError,
  CacheValueTooLargeError,
} from './cache.errors.js';
export type {
  CacheDeletePatternOptions,
  CacheEntryOptions,
  CacheL1Options,
  CacheLoadOptions,
  CacheOptions,
  CacheSetOptions,
  CacheValueOptions,
  ResolvedCacheOptions,
} from './cache.options.js';
export { resolveCacheOptions } from './cache.schema.js';
export { CachePolicy } from './cache-policy.js';
export { CacheService } from './cache.service.js';
export type { CacheStats } from './cache-stats.js';
export { defineCache, isCacheRegion, type CacheDefinition, type CacheRegion } from './define-cache.js';
export type { CacheFactory, CacheLoadContext } from './load-context.js';
export type { CacheLoadFailure } from './load-failure.js';
