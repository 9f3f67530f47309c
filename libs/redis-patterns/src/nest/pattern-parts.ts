import type { CacheOptions } from '../cache/index.js';
import { cachePart } from '../cache/nest/index.js';
import type { DoctorOptions } from '../doctor/index.js';
import { doctorPart } from '../doctor/nest/index.js';
import type { IdempotencyOptions } from '../idempotency/index.js';
import { idempotencyPart } from '../idempotency/nest/index.js';
import type { LockOptions } from '../lock/index.js';
import { lockPart } from '../lock/nest/index.js';
import type { RateLimitOptions } from '../rate-limit/index.js';
import { rateLimitPart } from '../rate-limit/nest/index.js';
import type { StreamOptions } from '../stream/index.js';
import { streamPart } from '../stream/nest/index.js';
import type { AnyPatternPart } from './pattern-part.js';

/** Options of all patterns, as the module takes them. */
export interface PatternOptions {
  cache?: CacheOptions;
  rateLimit?: RateLimitOptions;
  idempotency?: IdempotencyOptions;
  lock?: LockOptions;
  stream?: StreamOptions;
  doctor?: DoctorOptions;
}

/** Every pattern of the library. */
export const patternParts: readonly AnyPatternPart[] = [
  cachePart,
  rateLimitPart,
  idempotencyPart,
  lockPart,
  streamPart,
  doctorPart,
];
