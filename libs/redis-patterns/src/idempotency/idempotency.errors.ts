import { RedisPatternsError, StatusError, type ErrorCode } from '../core/index.js';

/**
 * A call that was not run, with the answer that HTTP has for it: 400, 409, 422 (as the IETF draft on the `Idempotency-Key`
 * header says) or 503. In the course of a request that nobody catches it for, it is answered with problem details (RFC 9457).
 */
export abstract class IdempotencyRefusedError extends StatusError<400 | 409 | 422 | 503> {
  constructor(
    code: ErrorCode,
    status: 400 | 409 | 422 | 503,
    message: string,
    /** Whole seconds after which to try again; `undefined` when trying again does not help. */
    readonly retryAfter?: number,
    options?: { cause?: unknown },
  ) {
    super(code, status, message, options);
  }
}

/** The client sent no key, or one that cannot be used. Code `ERR_IDEMPOTENCY_KEY`, HTTP 400. */
export class IdempotencyKeyError extends IdempotencyRefusedError {
  constructor(message: string) {
    super('ERR_IDEMPOTENCY_KEY', 400, message);
  }
}

/** A call with the same key is running now. Code `ERR_IDEMPOTENCY_BUSY`, HTTP 409 with `Retry-After`. */
export class IdempotencyBusyError extends IdempotencyRefusedError {
  constructor(
    /** Milliseconds until the key is free if whoever runs has died. Whoever lives renews that. */
    readonly leaseLeftMs: number,
  ) {
    // Most calls end long before their lease does, so it says nothing about when to come back.
    super('ERR_IDEMPOTENCY_BUSY', 409, 'A call with this idempotency key is running; try again in 1 s', 1);
  }
}

/** The key was used for another payload. Code `ERR_IDEMPOTENCY_MISMATCH`, HTTP 422. */
export class IdempotencyMismatchError extends IdempotencyRefusedError {
  constructor() {
    super(
      'ERR_IDEMPOTENCY_MISMATCH',
      422,
      'This idempotency key was used with another payload; a new call takes a new key',
    );
  }
}

/**
 * The call has been run, but its result could not be kept: a stream, too long, or not JSON. It is not run again. Code
 * `ERR_IDEMPOTENCY_UNKEPT`, HTTP 409.
 */
export class IdempotencyUnkeptError extends IdempotencyRefusedError {
  constructor() {
    super(
      'ERR_IDEMPOTENCY_UNKEPT',
      409,
      'The call with this idempotency key succeeded before, but its answer was not kept; do not repeat it',
    );
  }
}

/** Redis could not say whether the key is free, so nothing was run. Code `ERR_IDEMPOTENCY_UNAVAILABLE`, HTTP 503. */
export class IdempotencyUnavailableError extends IdempotencyRefusedError {
  constructor(cause: unknown) {
    super('ERR_IDEMPOTENCY_UNAVAILABLE', 503, 'Idempotency keys cannot be checked now; try again in 1 s', 1, { cause });
  }
}

/**
 * It cannot be told whose key it is: `scope` gave nothing, or the user of the request has no id. Code `ERR_IDEMPOTENCY_SCOPE`.
 * A fault of the set-up, in which one client might be given the answer of another, so that the request fails.
 */
export class IdempotencyScopeError extends RedisPatternsError {
  constructor(where: string, message: string) {
    super('ERR_IDEMPOTENCY_SCOPE', `${where}: ${message}`);
  }
}

/**
 * The reason of `signal` in a run that no longer owns its key: `expired` when its lease could not be renewed in time, `taken`
 * when its record is gone or another run's, `shutdown` when the application waits no longer. Code `ERR_IDEMPOTENCY_LOST`.
 */
export class IdempotencyLostError extends RedisPatternsError {
  constructor(readonly reason: 'expired' | 'taken' | 'shutdown') {
    super('ERR_IDEMPOTENCY_LOST', `The run no longer owns its idempotency key (${reason}): ${LOST[reason]}`);
  }
}

const LOST = {
  expired: "its lease ended before Redis confirmed a renewal; give a longer 'lease', and do not block the event loop",
  taken: 'its record is gone or belongs to another run; have the resource check `fence`',
  shutdown: "the application is closing and 'shutdownTimeout' is over",
};
