export { CacheResponse } from './cache-response.js';
export type {
  CacheResponseOptions,
  ResponseScope,
  ResponseScopeFunction,
  ResponseTagsFunction,
} from './response.options.js';
