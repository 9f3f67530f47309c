export { RequestTimeoutError } from './microservices.errors.js';
export type {
  RedisStreamsClientOptions,
  RedisStreamsOptions,
  RedisStreamsServerOptions,
} from './microservices.options.js';
export { RedisStreamsClient } from './nest/redis-streams.client.js';
export { RedisStreamsContext } from './nest/redis-streams.context.js';
export { RedisStreamsServer } from './nest/redis-streams.server.js';
