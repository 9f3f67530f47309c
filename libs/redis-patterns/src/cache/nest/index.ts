export { CacheEvict } from './cache-evict.js';
export { CachePut } from './cache-put.js';
export { Cacheable } from './cacheable.js';
export type { CacheableOptions, CacheEvictMapping, CachePutMapping, CacheTagsEviction } from './decorator-types.js';
export {
  CacheResponse,
  type CacheResponseOptions,
  type ResponseScope,
  type ResponseScopeFunction,
  type ResponseTagsFunction,
} from './response/index.js';
export { cachePart } from './module-part.js';
