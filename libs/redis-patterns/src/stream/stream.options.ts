import { z } from 'zod';
import { codecSchema, type Codec } from '../codec/index.js';
import type { Duration } from '../core/duration.js';
import { durationSchema, parseOptions } from '../core/options.js';

/** How much of a stream is kept. */
export interface RetentionOptions {
  /**
   * `'safe'`, the default: the newest `maxLen` entries are kept, and all that a group has not finished. `'hard'`: about the
   * newest `maxLen` entries, finished or not: a group that falls behind loses messages.
   */
  mode?: 'safe' | 'hard';
  /** Entries kept; Redis trims whole nodes, so up to a hundred more stay. Default 100 000. */
  maxLen?: number;
  /** `'safe'` only. Finished entries older than that go even below `maxLen`. Default: no limit. */
  maxAge?: Duration;
  /**
   * `'safe'` only. Length above which publishing is refused with a `StreamFullError`, as consumers do not keep up. Default
   * 1 000 000, or twice `maxLen` if that is more.
   */
  maxBacklog?: number;
}

/** What is said of one stream, for producers and consumers alike. */
export interface StreamSettings {
  /** Name of its connection. Default: `connection` of the stream options. */
  connection?: string;
  /** Turns payloads into text and back. Default: JSON, with marks for dates, maps and the like. */
  codec?: Codec;
  retention?: RetentionOptions;
  /**
   * Has no effect; see `defineStream`. Default 1.
   *
   * @deprecated leave it out
   */
  partitions?: number;
}

/** Options of streams: `RedisPatternsModule.forRoot({ stream })`. */
export interface StreamOptions {
  /** Name of the connection. Default `'default'`. Streams want one whose Redis does not evict. */
  connection?: string;
  /** Longest wait for running handlers when the application stops; then they are aborted. Default 15 s. */
  drainTimeout?: Duration;
  /** Time in which a `dedupId` is remembered, 1 s or more. Default 10 min. */
  dedupTtl?: Duration;
  /**
   * Whether every publish gets a `dedupId` of its own, so that it is safely sent again when an answer was lost. Costs a key for
   * `dedupTtl`, and about 30 % more time in Redis. Default false.
   */
  safeRetry?: boolean;
  /** Largest payload, in bytes of its encoded text. Default 262 144 (256 KB). */
  maxPayload?: number;
  /** Whether readers start with the application; else when `StreamRuntime.start()` is called. Default true. */
  autoStart?: boolean;
  /**
   * Time after which what a group keeps beside the stream ends, and its unfinished messages no longer hold back the trimming,
   * when no consumer serves it. Default 30 days.
   */
  abandonAfter?: Duration;
  /** Settings by stream name; they win over those of `defineStream`. */
  streams?: Record<string, StreamSettings>;
}

export interface ResolvedRetention {
  readonly mode: 'safe' | 'hard';
  readonly maxLen: number;
  /** Milliseconds; 0: no limit. */
  readonly maxAge: number;
  readonly maxBacklog: number;
}

export interface ResolvedStreamSettings {
  readonly connection?: string | undefined;
  readonly codec?: Codec | undefined;
  readonly retention?: ResolvedRetention | undefined;
  readonly partitions?: number | undefined;
}

/** {@link StreamOptions} with defaults filled in; durations are milliseconds. */
export interface ResolvedStreamOptions {
  readonly connection?: string | undefined;
  readonly drainTimeout: number;
  readonly dedupTtl: number;
  readonly safeRetry: boolean;
  readonly maxPayload: number;
  readonly autoStart: boolean;
  readonly abandonAfter: number;
  readonly streams: Readonly<Record<string, ResolvedStreamSettings>>;
}

const SAFE_ONLY = "is for mode 'safe' only: 'hard' removes the oldest entries whether they are finished or not";
const retention = z
  .strictObject({
    mode: z.enum(['safe', 'hard']).default('safe'),
    maxLen: z.int().min(1).default(100_000),
    maxAge: durationSchema({ min: 1000 }).optional(),
    maxBacklog: z.int().min(1).optional(),
  })
  .superRefine(({ mode, maxLen, maxAge, maxBacklog }, context) => {
    const wrong = (path: string, message: string): void => context.addIssue({ code: 'custom', path: [path], message });
    if (mode === 'hard' && maxAge !== undefined) wrong('maxAge', SAFE_ONLY);
    if (mode === 'hard' && maxBacklog !== undefined) wrong('maxBacklog', SAFE_ONLY);
    if (maxBacklog !== undefined && maxBacklog < maxLen) {
      wrong('maxBacklog', `must be at least 'maxLen' (${maxLen}): so many entries are kept anyway`);
    }
  })
  .transform(({ mode, maxLen, maxAge = 0, maxBacklog = Math.max(1_000_000, 2 * maxLen) }) => ({
    mode,
    maxLen,
    maxAge,
    maxBacklog,
  }));

const schema = z.strictObject({
  connection: z.string().optional(),
  drainTimeout: durationSchema().prefault('15s'),
  dedupTtl: durationSchema({ min: 1000 }).prefault('10m'),
  safeRetry: z.boolean().default(false),
  maxPayload: z.int().min(1).default(262_144),
  autoStart: z.boolean().default(true),
  abandonAfter: durationSchema({ min: 60_000 }).prefault('30d'),
  streams: z
    .record(
      z.string(),
      z.strictObject({
        connection: z.string().optional(),
        codec: codecSchema.optional(),
        retention: retention.optional(),
        partitions: z.int().min(1).optional(),
      }),
    )
    .default({}),
});

/**
 * Parses {@link StreamOptions}.
 *
 * @throws InvalidOptionsError naming each wrong option below `stream.`
 */
export function resolveStreamOptions(raw: unknown, where: string): ResolvedStreamOptions {
  return parseOptions(schema, raw ?? {}, where, 'stream');
}

/** @throws InvalidOptionsError for what `defineStream` was given */
export function resolveRetention(raw: RetentionOptions | undefined, stream: string): ResolvedRetention {
  return parseOptions(retention, raw ?? {}, `defineStream('${stream}')`, 'retention');
}
