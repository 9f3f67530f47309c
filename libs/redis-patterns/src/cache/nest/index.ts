export { CacheEvict } from './cache-evict.js';
export { CachePut } from './cache-put.js';
export { Cacheable } from './cacheable.js';
export type { CacheableOptions, CacheEvictMapping, CachePutMapping } from './decorator-types.js';
export { cachePart } from './module-part.js';
