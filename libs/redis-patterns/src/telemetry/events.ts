/** Payload of each channel `redis-patterns:<name>`. No key, value, argument, URL or user is ever part of one. */
export interface TelemetryEvents {
  /** A socket changed its state. */
  connection: { connection: string; role: string; from: string; to: string; reason?: string };
  /** A call that did not end well. */
  command: {
    connection: string;
    role: string;
    operation: string;
    outcome: string;
    code: string;
    reply?: string;
    elapsedMs: number;
    /** How often it was sent. */
    attempts: number;
    eventLoopDelayMs: number;
  };
  /** Calls are kept from a server that does not answer (`open`), or are let through again. */
  breaker: { connection: string; node: string; state: 'open' | 'closed' };
  /** Messages, or changes of cached keys, may have been missed; told when they come again. */
  gap: { connection: string; kind: 'pubsub' | 'tracking'; reason: string; durationMs: number };
  /** Messages of a pub/sub subscription may be missing; `ms` is how long the time is in which they were published. */
  'subscription-gap': { connection: string; subscription: string; reason: string; ms: number; missed?: number };
  /** Something that was leased is held no more, before it was given back. `name`: who asked for it. */
  'lock-lost': { connection: string; kind: string; name: string; reason: string; heldMs: number };
  /** A group could not process a message. */
  'dead-letter': { connection: string; stream: string; group: string; reason: string; attempts: number };
  /** How far a consumer group has come, from each of its readers every 5 s while somebody listens. */
  lag: {
    connection: string;
    stream: string;
    group: string;
    /** Entries that were not delivered yet; `undefined` when Redis cannot tell. */
    lag: number | undefined;
    /** Entries that were delivered and not acknowledged. */
    pending: number;
    /** Messages that wait for another attempt, or are in one. */
    retries: number;
    /** Messages that wait for an earlier one of their key, in a group that is ordered by key. */
    parked: number;
    deadLetters: number;
    /** Consumers that are alive. */
    members: number;
    /** Age of the oldest entry that is not done; 0 without one. */
    oldestMs: number;
    /** Entries that this process holds. */
    inFlight: number;
  };
  /** A value was made ready for a cache. `bytes`: as text, before it is compressed. */
  'cache-value': { connection: string; name: string; bytes: number };
  /** Something that works, but that somebody should look at. */
  warning: { pattern: string; code: string; message: string };
  /** Something that went wrong where no caller could be told. */
  error: { pattern: string; code: string; message: string; error?: unknown };
}

export type TelemetryPayload<Name extends keyof TelemetryEvents> = TelemetryEvents[Name] & { readonly app: string };
