import type { PatternPart } from '../../nest/pattern-part.js';
import type { ResolvedCacheOptions } from '../cache.options.js';
import { resolveCacheOptions } from '../cache.schema.js';
import { CacheService } from '../cache.service.js';

/** What the cache adds to the module. */
export const cachePart: PatternPart<ResolvedCacheOptions> = {
  option: 'cache',
  keeps: 'cache',
  resolve: resolveCacheOptions,
  services: [{ token: CacheService, create: (context, options) => new CacheService(context, options) }],
  decorators: ['@Cacheable', '@CachePut', '@CacheEvict', '@CacheResponse'],
};
