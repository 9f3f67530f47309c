import { RedisPatternsError, type ErrorCode } from '../core/errors.js';

/**
 * What is known about an operation that did not succeed:
 * - `refused`: Redis answered and did nothing;
 * - `not-sent`: it never left this process, and never will;
 * - `unknown`: it may have run, or may still run.
 */
export type FailureOutcome = 'refused' | 'not-sent' | 'unknown';
export type Outcome = 'ok' | FailureOutcome;

export type UnavailableCode =
  | 'ERR_REDIS_NOT_READY'
  | 'ERR_REDIS_BREAKER_OPEN'
  | 'ERR_REDIS_OVERLOADED'
  | 'ERR_REDIS_CLOSED'
  | 'ERR_REDIS_ABORTED'
  | 'ERR_REDIS_DEADLINE'
  | 'ERR_REDIS_CONNECTION_LOST'
  | 'ERR_REDIS_REFUSED';

export interface FailureDetails {
  readonly outcome: FailureOutcome;
  readonly connection: string;
  /** Name of the operation, such as `lock.acquire`; never a key. */
  readonly operation: string;
  /** First word of Redis' error reply, such as `LOADING` or `WRONGTYPE`. */
  readonly reply?: string;
  readonly elapsedMs: number;
  readonly eventLoopDelayMs?: number;
  readonly cause?: unknown;
}

/** An operation on Redis that did not succeed. */
export abstract class RedisOperationError extends RedisPatternsError {
  /** What is known about it: see {@link FailureOutcome}. */
  readonly outcome: FailureOutcome;
  readonly connection: string;
  readonly operation: string;
  readonly reply: string | undefined;
  /** Milliseconds from the call to this error. */
  readonly elapsedMs: number;
  /** Milliseconds by which this process was late to look at its own deadline: if large, the event loop is the trouble. */
  readonly eventLoopDelayMs: number;

  constructor(
    code: ErrorCode,
    message: string,
    { outcome, connection, operation, reply, elapsedMs, eventLoopDelayMs = 0, cause }: FailureDetails,
  ) {
    super(code, `${operation} on Redis connection '${connection}': ${message} (outcome: ${outcome})`, { cause });
    this.outcome = outcome;
    this.connection = connection;
    this.operation = operation;
    this.reply = reply;
    this.elapsedMs = elapsedMs;
    this.eventLoopDelayMs = eventLoopDelayMs;
  }
}

/** Redis did not answer, or answered that it can't serve now. `outcome` tells whether the operation may have run. */
export class RedisUnavailableError extends RedisOperationError {
  declare readonly code: UnavailableCode;

  constructor(code: UnavailableCode, message: string, details: FailureDetails) {
    super(code, message, details);
  }
}

/** Redis answered that the command itself is wrong: WRONGTYPE, NOPERM, CROSSSLOT, a fault inside a script. */
export class RedisCommandError extends RedisOperationError {
  constructor(message: string, details: FailureDetails) {
    super('ERR_REDIS_COMMAND', message, details);
  }
}

/** A connection that could not be established at boot. The message names the option to look at. */
export class RedisConnectError extends RedisPatternsError {
  constructor(
    readonly connection: string,
    message: string,
    cause?: unknown,
  ) {
    super('ERR_REDIS_CONNECT', `Redis connection '${connection}': ${message}`, { cause });
  }
}
