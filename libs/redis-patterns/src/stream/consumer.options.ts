import { z } from 'zod';
import type { Duration } from '../core/duration.js';
import { durationSchema, parseOptions } from '../core/options.js';
import { streamNameOf, type StreamName } from './stream-definition.js';

/** Back-off between attempts: full jitter below `min(max, base * factor ** (attempt - 1))`. */
export interface RetryBackoffOptions {
  /** Default 200 ms. */
  base?: Duration;
  /** Default 2. */
  factor?: number;
  /** Default 5 min. */
  max?: Duration;
}

/** Options of one consumer. Those marked "reader" concern all methods of the same stream and group. */
export interface StreamConsumerOptions {
  stream: StreamName;
  /** Every group gets every message once; consumers of one group share them. */
  group: string;
  /** Types that the handler takes. Without it: all that no other handler of the group takes. */
  type?: string | readonly string[];
  /** Reader. Where a new group begins: `'0'` (default), `'$'` (only what comes later), an id, or a time. */
  startFrom?: string | Date;
  /** Reader. Handlers that run at the same time in this process. Default 10. */
  concurrency?: number;
  /** Reader. Entries that wait in this process for a free place. Default: as `concurrency`. */
  prefetch?: number;
  /** Reader. Time without renewal after which another consumer takes an entry over. 1 s or more, default 30 s. */
  lease?: Duration;
  /** Reader. Longest wait of one read, at most 5 s. Default 2 s. */
  block?: Duration;
  /** Reader. Payload bytes held in this process, about. Default 16 MiB. */
  maxBufferedBytes?: number;
  /** Reader. Entries held in this process that wait for their next attempt; more stop the reading. Default 1000. */
  maxParked?: number;
  /** Reader. Starts after which a message that never ended (its process died) becomes a dead letter. Default 10. */
  maxDeliveries?: number;
  /** Reader. What happens to a type that no handler takes. Default `'dead-letter'`. */
  onUnknownType?: 'dead-letter' | 'ack' | 'retry';
  /** Reader. Bounds of the dead letters; `false`: what cannot be processed is dropped, with an error in the log. */
  deadLetter?: false | { maxLen?: number; maxAge?: Duration };
  /** Attempts in all, the first included (default 5), and the pauses between them. */
  retry?: { attempts?: number; backoff?: RetryBackoffOptions };
}

export interface ResolvedRetry {
  readonly attempts: number;
  readonly backoff: { readonly base: number; readonly factor: number; readonly max: number };
}

/** What a reader needs; durations are milliseconds. */
export interface ResolvedReaderOptions {
  readonly startFrom: string;
  readonly concurrency: number;
  readonly prefetch: number;
  readonly lease: number;
  readonly block: number;
  readonly maxBufferedBytes: number;
  readonly maxParked: number;
  readonly maxDeliveries: number;
  readonly onUnknownType: 'dead-letter' | 'ack' | 'retry';
  readonly deadLetter: false | { readonly maxLen: number; readonly maxAge: number };
}

export interface ResolvedConsumerOptions {
  readonly stream: string;
  readonly group: string;
  /** `undefined`: every type that no other handler takes. */
  readonly types: readonly string[] | undefined;
  readonly retry: ResolvedRetry;
  /** Only what was given: methods of one reader may each say a part. */
  readonly reader: Partial<ResolvedReaderOptions>;
}

const START_FROM = "must be '0', '$', an entry id such as '1764500000000-0', or a Date";
const startFrom = z.union([z.string().regex(/^(\$|\d{1,16}(-\d{1,20})?)$/, START_FROM), z.date()], START_FROM);
const deadLetterBounds = z.strictObject({
  maxLen: z.int().min(1).default(100_000),
  maxAge: durationSchema({ min: 1000 }).prefault('30d'),
});

const schema = z.strictObject({
  stream: z.custom<StreamName>(
    (value) => typeof (value as { name?: unknown } | undefined)?.name === 'string' || typeof value === 'string',
    "must be a stream name such as 'orders', or a value of defineStream()",
  ),
  group: z.string().min(1, "must be a name such as 'billing'"),
  type: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).optional(),
  startFrom: startFrom.optional(),
  concurrency: z.int().min(1).max(10_000).optional(),
  prefetch: z.int().min(0).max(10_000).optional(),
  lease: durationSchema({ min: 1000 }).optional(),
  block: durationSchema({ min: 10, max: 5000 }).optional(),
  maxBufferedBytes: z.int().min(1024).optional(),
  maxParked: z.int().min(1).optional(),
  maxDeliveries: z.int().min(1).optional(),
  onUnknownType: z.enum(['dead-letter', 'ack', 'retry']).optional(),
  deadLetter: z.union([z.literal(false), deadLetterBounds]).optional(),
  retry: z
    .strictObject({
      attempts: z.int().min(1).default(5),
      backoff: z
        .strictObject({
          base: durationSchema().prefault(200),
          factor: z.number().min(1).default(2),
          max: durationSchema().prefault('5m'),
        })
        .prefault({}),
    })
    .prefault({}),
});

/**
 * Parses the options of one consumer.
 *
 * @param where `Class.method`, or what else the options were given to
 * @throws InvalidOptionsError naming each wrong option
 */
export function resolveConsumerOptions(raw: unknown, where: string): ResolvedConsumerOptions {
  const { stream, group, type, retry, startFrom: start, ...rest } = parseOptions(schema, raw ?? {}, where);
  const given = Object.entries(rest).filter(([, value]) => value !== undefined);
  const reader = Object.fromEntries(given) as Partial<ResolvedReaderOptions>;
  return {
    stream: streamNameOf(stream),
    group,
    types: type === undefined ? undefined : typeof type === 'string' ? [type] : type,
    retry,
    reader: start === undefined ? reader : { ...reader, startFrom: startPosition(start) },
  };
}

/** Fills in what no method of the reader has said. */
export function withReaderDefaults(given: Partial<ResolvedReaderOptions>): ResolvedReaderOptions {
  const concurrency = given.concurrency ?? 10;
  return {
    startFrom: '0-0',
    prefetch: concurrency,
    lease: 30_000,
    block: 2000,
    maxBufferedBytes: 16 * 1024 * 1024,
    maxParked: 1000,
    maxDeliveries: 10,
    onUnknownType: 'dead-letter',
    deadLetter: { maxLen: 100_000, maxAge: 30 * 86_400_000 },
    ...given,
    concurrency,
  };
}

/** The id after which the group begins. A time includes what was published in that very millisecond. */
function startPosition(start: string | Date): string {
  if (start === '$') return start;
  if (typeof start === 'string') return start.includes('-') ? start : `${start}-0`;
  const ms = start.getTime();
  return ms > 0 ? `${ms - 1}-18446744073709551615` : '0-0';
}
