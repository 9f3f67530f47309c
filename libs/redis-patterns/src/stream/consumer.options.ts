import type { Duration } from '../core/duration.js';
import type { MessageSchema } from './message-schema.js';
import type { EventType, StreamDefinition, StreamEvents, StreamName } from './stream-definition.js';

/** Back-off between attempts: full jitter below `min(max, base * factor ** (attempt - 1))`. */
export interface RetryBackoffOptions {
  /** Default 200 ms. */
  base?: Duration;
  /** Default 2. */
  factor?: number;
  /** Default 5 min. */
  max?: Duration;
}

/** Bounds of the dead letters of a group, and what they hold. */
export interface DeadLetterOptions {
  /** Default 100 000. */
  maxLen?: number;
  /** Default 30 days. */
  maxAge?: Duration;
  /** Whether the stack of the error is kept, too; it shows paths. Default false. */
  stack?: boolean;
}

/** Options of one consumer. Those marked "reader" concern all methods of the same stream and group. */
export interface StreamConsumerOptions<
  Events extends StreamEvents = StreamEvents,
  Type extends EventType<Events> = EventType<Events>,
> {
  stream: string | StreamDefinition<Events>;
  /** Every group gets every message once; consumers of one group share them. */
  group: string;
  /** Types that the handler takes. Without it: all that no other handler of the group takes. */
  type?: Type | readonly Type[];
  /** What the payload must look like; what does not fit is a dead letter at once. Default: that of `defineStream`. */
  schema?: MessageSchema;
  /** Attempts in all, the first included (default 5), and the pauses between them. */
  retry?: { attempts?: number; backoff?: RetryBackoffOptions };
  /**
   * Longest run of the handler; then its signal aborts and the attempt has failed. The old run cannot be forced to end, so the
   * next one may overlap with it. Default: none.
   */
  timeout?: Duration;
  /** A run that takes longer is told of in a warning, once. Default 60 s. */
  slowAfter?: Duration;
  /**
   * The handler takes up to `size` messages at once (as `body[]` and `ctx.messages`), and after `wait` (default 50 ms) also
   * fewer. A batch takes one place of `concurrency`.
   */
  batch?: { size: number; wait?: Duration };
  /**
   * Reader. `'none'`, the default: messages run side by side. `'key'`: those of one key (`key` of `publish`) run one after the
   * other, in the order of the stream, in whichever process; while one waits for its next attempt its key waits, and all
   * other keys go on. Messages without a key wait for nobody. Not with `batch`.
   */
  ordering?: 'none' | 'key';
  /**
   * Reader. With `ordering: 'key'`: messages of the group that wait for their key or for a consumer, about, before no more are
   * taken from the stream. Default 1000.
   */
  maxParked?: number;
  /** Reader. Where a new group begins: `'0'` (default), `'$'` (only what comes later), an id, or a time. */
  startFrom?: string | Date;
  /** Reader. Handlers that run at the same time in this process. Default 10. */
  concurrency?: number;
  /** Reader. Entries that wait in this process for a free place. Default: as `concurrency`, times the largest batch. */
  prefetch?: number;
  /** Reader. Time without renewal after which another consumer takes an entry over. 1 s or more, default 30 s. */
  lease?: Duration;
  /** Reader. Longest wait of one read, at most 5 s. Default 2 s. */
  block?: Duration;
  /** Reader. Payload bytes held in this process, about. Default 16 MiB. */
  maxBufferedBytes?: number;
  /** Reader. Starts after which a message that never ended (its process died) becomes a dead letter. Default 10. */
  maxDeliveries?: number;
  /** Reader. Silence after which a consumer no longer counts as alive. Default: twice `lease`. */
  reapAfter?: Duration;
  /** Reader. Name of this process in the group; no other process may have it. Default `<namespace>-<host>-<pid>-<6 hex>`. */
  consumerName?: string;
  /** Reader. What happens to a type that no handler takes. Default `'dead-letter'`. */
  onUnknownType?: 'dead-letter' | 'ack' | 'retry';
  /** Reader. Bounds of the dead letters; `false`: what cannot be processed is dropped, with an error in the log. */
  deadLetter?: false | DeadLetterOptions;
}

export interface ResolvedRetry {
  readonly attempts: number;
  readonly backoff: { readonly base: number; readonly factor: number; readonly max: number };
}

/** What concerns one handler; durations are milliseconds. */
export interface ResolvedHandlerOptions {
  readonly retry: ResolvedRetry;
  readonly timeout: number | undefined;
  readonly slowAfter: number;
  readonly batch: { readonly size: number; readonly wait: number } | undefined;
}

/** What a reader needs; durations are milliseconds. */
export interface ResolvedReaderOptions {
  readonly startFrom: string;
  readonly concurrency: number;
  readonly prefetch: number;
  readonly lease: number;
  readonly block: number;
  readonly maxBufferedBytes: number;
  readonly maxDeliveries: number;
  readonly reapAfter: number;
  readonly consumerName: string | undefined;
  readonly onUnknownType: 'dead-letter' | 'ack' | 'retry';
  readonly deadLetter: false | { readonly maxLen: number; readonly maxAge: number; readonly stack: boolean };
  readonly ordering: 'none' | 'key';
  readonly maxParked: number;
}

export interface ResolvedConsumerOptions {
  readonly stream: StreamName;
  readonly group: string;
  /** `undefined`: every type that no other handler takes. */
  readonly types: readonly string[] | undefined;
  readonly schema: MessageSchema | undefined;
  readonly handler: ResolvedHandlerOptions;
  /** Only what was given: methods of one reader may each say a part. */
  readonly reader: Partial<ResolvedReaderOptions>;
}

/** Fills in what no method of the reader has said. */
export function withReaderDefaults(given: Partial<ResolvedReaderOptions>, largestBatch: number): ResolvedReaderOptions {
  const { concurrency = 10, lease = 30_000 } = given;
  return {
    startFrom: '0-0',
    prefetch: concurrency * largestBatch,
    lease,
    block: 2000,
    maxBufferedBytes: 16 * 1024 * 1024,
    maxDeliveries: 10,
    reapAfter: 2 * lease,
    consumerName: undefined,
    onUnknownType: 'dead-letter',
    deadLetter: { maxLen: 100_000, maxAge: 30 * 86_400_000, stack: false },
    ordering: 'none',
    maxParked: 1000,
    ...given,
    concurrency,
  };
}
