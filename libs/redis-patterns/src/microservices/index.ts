export { ClientClosedError, RequestTimeoutError } from './microservices.errors.js';
export type {
  RedisStreamsClientOptions,
  RedisStreamsOptions,
  RedisStreamsServerOptions,
} from './microservices.options.js';
export type { RedisStreamsEvents, RedisStreamsStatus } from './nest/backend.js';
export { RedisStreamsClient } from './nest/redis-streams.client.js';
export { RedisStreamsContext } from './nest/redis-streams.context.js';
export { RedisStreamsServer } from './nest/redis-streams.server.js';
export { RedisStreamsRecord, RedisStreamsRecordBuilder, type RedisStreamsRecordOptions } from './record.js';
export {
  REDIS_STREAMS,
  type PacketDeserializer,
  type PacketSerializer,
  type RedisStreamsPacket,
  type RedisStreamsReply,
} from './wire.js';
