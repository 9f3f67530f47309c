import { z } from 'zod';
import type { Duration } from '../core/duration.js';
import { durationSchema, parseOptions } from '../core/options.js';

/** How much of a stream is kept. */
export interface RetentionOptions {
  /** `'hard'`: about the newest `maxLen` entries are kept, processed or not. The only mode in this version. */
  mode?: 'hard';
  /** Entries kept at least; Redis trims whole nodes, so some more stay. Default 100 000. */
  maxLen?: number;
}

/** What is said of one stream, for producers and consumers alike. */
export interface StreamSettings {
  retention?: RetentionOptions;
}

/** Options of streams: `RedisPatternsModule.forRoot({ stream })`. */
export interface StreamOptions {
  /** Name of the connection. Default `'default'`. Streams want one whose Redis does not evict. */
  connection?: string;
  /** Longest wait for running handlers when the application stops; then they are aborted. Default 15 s. */
  drainTimeout?: Duration;
  /** Largest payload, in bytes of its encoded text. Default 262 144 (256 KB). */
  maxPayload?: number;
  /** Whether readers start with the application; else when `StreamRuntime.start()` is called. Default true. */
  autoStart?: boolean;
  /** Time after which what a group keeps beside the stream ends, when no consumer serves it. Default 30 days. */
  abandonAfter?: Duration;
  /** Settings by stream name; they win over those of `defineStream`. */
  streams?: Record<string, StreamSettings>;
}

export interface ResolvedRetention {
  readonly mode: 'hard';
  readonly maxLen: number;
}

/** {@link StreamOptions} with defaults filled in; durations are milliseconds. */
export interface ResolvedStreamOptions {
  readonly connection?: string | undefined;
  readonly drainTimeout: number;
  readonly maxPayload: number;
  readonly autoStart: boolean;
  readonly abandonAfter: number;
  readonly streams: Readonly<Record<string, { readonly retention?: ResolvedRetention | undefined }>>;
}

const HARD_ONLY = "only 'hard' exists in this version";
const retention = z.strictObject({
  mode: z.literal('hard', HARD_ONLY).default('hard'),
  maxLen: z.int().min(1).default(100_000),
});

const schema = z.strictObject({
  connection: z.string().optional(),
  drainTimeout: durationSchema().prefault('15s'),
  maxPayload: z.int().min(1).default(262_144),
  autoStart: z.boolean().default(true),
  abandonAfter: durationSchema({ min: 60_000 }).prefault('30d'),
  streams: z.record(z.string(), z.strictObject({ retention: retention.optional() })).default({}),
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
