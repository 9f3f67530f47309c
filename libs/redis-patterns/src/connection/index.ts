export { classify, safeCause } from './classify.js';
export type { ConnectionStats } from './connection-stats.js';
export { ManagedConnection } from './managed-connection.js';
export {
  RedisCommandError,
  RedisConnectError,
  RedisUnavailableError,
  type FailureOutcome,
  type Outcome,
  type UnavailableCode,
} from './connection.errors.js';
export type { ConnectionUser } from './eviction.js';
export { addressOf } from './connection-url.js';
export { resolveConnectionOptions, type ResolvedConnectionOptions } from './connection.schema.js';
export type {
  BreakerOptions,
  ClusterConnectionOptions,
  CommonConnectionOptions,
  ConnectionOptions,
  PoolOptions,
  SentinelConnectionOptions,
  StandaloneConnectionOptions,
} from './connection.options.js';
export type {
  BlockingLease,
  ChannelKind,
  Effect,
  EngineContext,
  Operation,
  RedisClient,
  RedisConnection,
  Subscription,
  SubscriptionHandler,
  TrackingFeed,
  TrackingListener,
} from './redis-connection.js';
