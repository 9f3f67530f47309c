export { CacheInvalidationError } from './cache.errors.js';
export {
  resolveCacheOptions,
  type CacheEntryOptions,
  type CacheLoadOptions,
  type CacheOptions,
  type CacheSetOptions,
  type ResolvedCacheOptions,
} from './cache.options.js';
export { CachePolicy } from './cache-policy.js';
export { CacheService } from './cache.service.js';
export { defineCache, isCacheRegion, type CacheDefinition, type CacheRegion } from './define-cache.js';
export type { CacheFactory, CacheLoadContext } from './load-context.js';
