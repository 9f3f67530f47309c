import type { CacheOptions } from '../cache/index.js';
import { cachePart } from '../cache/nest/index.js';
import type { CountingOptions } from '../counting/index.js';
import { countingPart } from '../counting/nest/index.js';
import type { FeedOptions } from '../feed/index.js';
import { feedPart } from '../feed/nest/index.js';
import type { DoctorOptions } from '../doctor/index.js';
import { doctorPart } from '../doctor/nest/index.js';
import type { IdempotencyOptions } from '../idempotency/index.js';
import { idempotencyPart } from '../idempotency/nest/index.js';
import type { LeaderboardOptions } from '../leaderboard/index.js';
import { leaderboardPart } from '../leaderboard/nest/index.js';
import type { LockOptions } from '../lock/index.js';
import { lockPart } from '../lock/nest/index.js';
import type { PubSubOptions } from '../pubsub/index.js';
import { pubSubPart } from '../pubsub/nest/index.js';
import type { RateLimitOptions } from '../rate-limit/index.js';
import { rateLimitPart } from '../rate-limit/nest/index.js';
import type { SessionOptions } from '../session/index.js';
import { sessionPart } from '../session/nest/index.js';
import type { StreamOptions } from '../stream/index.js';
import { streamPart } from '../stream/nest/index.js';
import type { TokenOptions } from '../token/index.js';
import { tokenPart } from '../token/nest/index.js';
import type { AnyPatternPart } from './pattern-part.js';

/** Options of all patterns, as the module takes them. */
export interface PatternOptions {
  cache?: CacheOptions;
  rateLimit?: RateLimitOptions;
  idempotency?: IdempotencyOptions;
  lock?: LockOptions;
  stream?: StreamOptions;
  leaderboard?: LeaderboardOptions;
  counting?: CountingOptions;
  feed?: FeedOptions;
  session?: SessionOptions;
  token?: TokenOptions;
  doctor?: DoctorOptions;
  pubsub?: PubSubOptions;
}

/** Every pattern of the library. */
export const patternParts: readonly AnyPatternPart[] = [
  cachePart,
  rateLimitPart,
  idempotencyPart,
  lockPart,
  streamPart,
  leaderboardPart,
  countingPart,
  feedPart,
  sessionPart,
  tokenPart,
  doctorPart,
  pubSubPart,
];
