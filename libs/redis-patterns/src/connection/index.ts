export { classify, safeCause } from './classify.js';
export type { ConnectionStats } from './connection-stats.js';
export { DirectServers, type DirectClient, type DirectCommand, type DirectServer } from './direct.js';
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
export type { RoleState } from './role-state.js';
export { nodeFor } from './node-for.js';
export { scanKeys } from './scan-keys.js';
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
  ApplicationConnection,
  BlockingLease,
  ChannelKind,
  Effect,
  EngineContext,
  Operation,
  RedisClient,
  RedisConnection,
  Subscription,
  SubscriptionHandler,
  SubscriptionLoss,
  TrackingFeed,
  TrackingListener,
} from './redis-connection.js';
