export type { ConnectionStats } from './managed-connection.js';
export { ManagedConnection } from './managed-connection.js';
export {
  RedisCommandError,
  RedisConnectError,
  RedisUnavailableError,
  type FailureOutcome,
  type Outcome,
  type UnavailableCode,
} from './connection.errors.js';
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
  Effect,
  EngineContext,
  Operation,
  RedisClient,
  RedisConnection,
} from './redis-connection.js';
