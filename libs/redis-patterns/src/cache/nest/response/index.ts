export { CacheResponseInterceptor } from './cache-response.interceptor.js';
export { CacheResponse } from './cache-response.js';
export type {
  CacheResponseOptions,
  ResponseScope,
  ResponseScopeFunction,
  ResponseTagsFunction,
} from './response.options.js';
