import { RedisUnavailableError, type FailureOutcome } from '../connection/index.js';
import { RedisPatternsError, StatusError } from '../core/index.js';

/**
 * Redis could not say, or did not confirm: there may be a session or not. Code `ERR_SESSION_UNAVAILABLE`, HTTP 503. `outcome` tells
 * whether a change may have been made; `cause` is the error of the connection.
 */
export class SessionUnavailableError extends StatusError<503> {
  readonly outcome: FailureOutcome;

  constructor(cause: RedisUnavailableError) {
    super('ERR_SESSION_UNAVAILABLE', 503, 'Sessions cannot be reached now; try again', { cause });
    this.outcome = cause.outcome;
  }
}

/** Passes an error on; that Redis did not serve becomes {@link SessionUnavailableError}. */
export function throwUnavailable(error: unknown): never {
  throw error instanceof RedisUnavailableError ? new SessionUnavailableError(error) : error;
}

/** All sessions of the principal were ended while this one was begun, so it was ended too. Code `ERR_SESSION_REVOKED`, HTTP 401. */
export class SessionRevokedError extends StatusError<401> {
  constructor() {
    super(
      'ERR_SESSION_REVOKED',
      401,
      'All sessions of this principal were ended while this one began, and it was ended with them; log in again',
    );
  }
}

/** The session has another version than `ifVersion`. Nothing was changed. Code `ERR_SESSION_CONFLICT`, HTTP 409. */
export class SessionConflictError extends StatusError<409> {
  constructor(
    /** The version that it has. */
    readonly version: number,
  ) {
    super(
      'ERR_SESSION_CONFLICT',
      409,
      `The session was changed by another request (its version is ${version}); read it again, and decide anew`,
    );
  }
}

/** The data is above `session.maxBytes`. Nothing was changed. Code `ERR_SESSION_TOO_LARGE`. */
export class SessionTooLargeError extends RedisPatternsError {
  constructor(
    readonly bytes: number,
    maxBytes: number,
  ) {
    super(
      'ERR_SESSION_TOO_LARGE',
      `The data of the session has ${bytes} bytes, more than 'session.maxBytes' (${maxBytes}); keep references in it, or raise that`,
    );
  }
}

/** How telemetry calls what callers have to expect. */
export const SESSION_OUTCOMES = {
  ERR_SESSION_CONFLICT: 'conflict',
  ERR_SESSION_TOO_LARGE: 'too-large',
  ERR_SESSION_REVOKED: 'revoked',
} as const;
