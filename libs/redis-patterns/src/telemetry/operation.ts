/** Patterns whose operations are published on `tracing:redis-patterns:<pattern>:…`. */
export const TRACED_PATTERNS = [
  ...(['cache', 'ratelimit', 'lock', 'idempotency', 'stream', 'pubsub'] as const),
  ...(['session', 'token', 'leaderboard', 'counting', 'feed', 'throttler'] as const),
] as const;

export type TracedPattern = (typeof TRACED_PATTERNS)[number];

/** What is known of an operation when it begins. */
export interface OperationFacts {
  /** What is done: `get`, `load`, `acquire`. */
  readonly operation: string;
  /** Who does it, as in the code: `Class.method`, a region, a policy, a stream. Never a key. */
  readonly name: string;
  /** The key without its values: `product:{}`. */
  readonly keyTemplate?: string | undefined;
  /** How many keys or messages it is about, when it can be several. */
  readonly batchSize?: number;
  readonly stream?: string;
  readonly group?: string;
  /** Of the message that is processed. */
  readonly messageId?: string;
  /** Trace context that came with the message: `traceparent` and `tracestate` alone. */
  readonly carrier?: TraceCarrier | undefined;
  /** The same of each of several messages. */
  readonly carriers?: readonly TraceCarrier[];
}

/** The headers of W3C Trace Context. */
export interface TraceCarrier {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/** One operation of an engine; the fields below `pattern` that are not known at its begin are filled in until its end. */
export interface TracedOperation extends OperationFacts {
  /** The application: id of its module instance. */
  readonly app: string;
  readonly connection: string;
  readonly pattern: TracedPattern;
  /** On the clock of `performance.now()`. */
  readonly startedAt: number;
  /** How it ended: one word of a fixed list for each pattern. */
  outcome?: string;
  /** Where the answer came from: `redis`, `l1`, `load`, `local`. */
  source?: string;
  attempts?: number;
  /** Of an error: its `ERR_…` code, or the name of its class. */
  code?: string;
  elapsedMs?: number;
  /** Of several keys: how many of them ended how. */
  counts?: Readonly<Record<string, number>>;
  /** Of a rate limit: what each policy said. */
  decisions?: readonly { readonly policy: string; readonly outcome: string }[];
}
