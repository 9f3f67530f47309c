export type { Reply } from './keyspace.js';
export { MemoryRedis } from './memory-redis.js';
