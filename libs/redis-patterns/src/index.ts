export {
  InvalidOptionsError,
  NotBoundError,
  RedisPatternsError,
  type ErrorCode,
  type OptionIssue,
} from './core/errors.js';
export type { Duration } from './core/duration.js';
export { InvalidKeyError, type Key, type KeyPart } from './keys/index.js';
export {
  RedisCommandError,
  RedisConnectError,
  RedisUnavailableError,
  type BlockingLease,
  type BreakerOptions,
  type ClusterConnectionOptions,
  type CommonConnectionOptions,
  type ConnectionOptions,
  type ConnectionStats,
  type FailureOutcome,
  type PoolOptions,
  type RedisClient,
  type SentinelConnectionOptions,
  type StandaloneConnectionOptions,
} from './connection/index.js';
export {
  CacheInvalidationError,
  CacheService,
  defineCache,
  type CacheDefinition,
  type CacheEntryOptions,
  type CacheFactory,
  type CacheLoadContext,
  type CacheLoadOptions,
  type CacheOptions,
  type CacheRegion,
  type CacheSetOptions,
} from './cache/index.js';
export {
  Cacheable,
  CacheEvict,
  CachePut,
  type CacheableOptions,
  type CacheEvictMapping,
  type CachePutMapping,
} from './cache/nest/index.js';
export {
  DecoratedMethodError,
  PATTERNS_RUNTIME,
  PatternsExplorer,
  PatternsRuntime,
  type DecoratedMethod,
} from './nest/method-decorator/index.js';
export { getRedisToken, InjectRedis } from './nest/inject-redis.js';
export { RedisConnections } from './nest/redis-connections.js';
export { RedisPatternsModule } from './nest/redis-patterns.module.js';
export type {
  RedisPatternsAsyncOptions,
  RedisPatternsOptions,
  RedisPatternsOptionsFactory,
} from './nest/redis-patterns.options.js';
export {
  defineStream,
  LeaseLostError,
  MessageSettledError,
  RetryMessageError,
  StreamAdmin,
  StreamContext,
  StreamDrainedError,
  StreamProducer,
  StreamPublishError,
  StreamRuntime,
  UnrecoverableMessageError,
  type DeadLetter,
  type DeadLetters,
  type MessageHandler,
  type PublishItem,
  type PublishOptions,
  type PublishResult,
  type RetentionOptions,
  type RetryBackoffOptions,
  type StreamConsumerOptions,
  type StreamConsumption,
  type StreamDefinition,
  type StreamEvents,
  type StreamGroupInfo,
  type StreamInfo,
  type StreamName,
  type StreamOptions,
  type StreamPendingInfo,
  type StreamRuntimeState,
  type StreamSettings,
} from './stream/index.js';
export { MessageBody, MessageContext, MessageHeader, StreamConsumer } from './stream/nest/index.js';
export {
  definePolicy,
  RateLimitExceededError,
  RateLimitService,
  RateLimitSubjectError,
  RateLimitUnavailableError,
  type ConsumeOptions,
  type DefinedPolicy,
  type OnStoreError,
  type Policy,
  type PolicyReference,
  type PolicyResult,
  type RateLimitAlgorithm,
  type RateLimitHeaders,
  type RateLimitOptions,
  type RateLimitResult,
  type RateLimitSource,
  type RequestContext,
  type SubjectFunction,
  type SubjectSource,
} from './rate-limit/index.js';
export {
  RateLimit,
  RateLimitGuard,
  RateLimitHttpException,
  SkipRateLimit,
  type HandlerLimitOptions,
  type MethodLimitOptions,
  type RateLimitPolicies,
  type RateLimitProblem,
} from './rate-limit/nest/index.js';
export {
  LockHandle,
  LockLostError,
  LockReentryError,
  LockService,
  LockTimeoutError,
  LockUnavailableError,
  type LockCallOptions,
  type LockInfo,
  type LockLostReason,
  type LockOptions,
  type LockUsingOptions,
} from './lock/index.js';
export { WithLock, type WithLockOptions } from './lock/nest/index.js';
