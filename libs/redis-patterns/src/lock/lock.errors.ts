import { formatDuration, RedisPatternsError } from '../core/index.js';

/** A lock that somebody else held for the whole time that the caller was ready to wait. Code `ERR_LOCK_TIMEOUT`. */
export class LockTimeoutError extends RedisPatternsError {
  /** Key of the lock in Redis. */
  readonly key: string;
  /**
   * Milliseconds until the lease of the holder ends, if it does not renew or release it before. `Infinity` for a key that
   * has no end, which this library never writes.
   */
  readonly retryAfterMs: number;

  constructor(key: string, waitMs: number, retryAfterMs: number) {
    const waited = waitMs === 0 ? 'is held by somebody else' : `was held by others for ${formatDuration(waitMs)}`;
    super('ERR_LOCK_TIMEOUT', `Lock '${key}' ${waited}; try again later, or give a longer 'wait'`);
    this.key = key;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Why a lock was lost. `expired`: its lease ended, or its key is gone; `stolen`: another token holds it; `unreachable`: it
 * could not be renewed in time; `max-hold`: it was held for as long as `maxHold` or a shutdown allows;
 * `released`: the caller has given it back.
 */
export type LockLostReason = 'expired' | 'stolen' | 'unreachable' | 'max-hold' | 'released';

const LOST: Record<LockLostReason, string> = {
  expired:
    "its lease ended or its key is gone; give a longer 'lease', set 'autoExtend', and do not block the event loop or evict locks",
  stolen: "somebody else holds it; after a failover or a flush only a check of 'fence' keeps two holders apart",
  unreachable: 'Redis did not answer its renewals before the lease ended',
  'max-hold': "it was held as long as 'maxHold' (or 'shutdownTimeout', at shutdown) allows; stop the work or raise it",
  released: 'it was given back before; take it again',
};

/** The caller no longer holds a lock that it was given. Code `ERR_LOCK_LOST`; also the reason of the handle's `signal`. */
export class LockLostError extends RedisPatternsError {
  constructor(
    /** Key of the lock in Redis. */
    readonly key: string,
    readonly reason: LockLostReason,
  ) {
    super('ERR_LOCK_LOST', `Lock '${key}' was lost (${reason}): ${LOST[reason]}`);
  }
}

/**
 * Redis could not say whether the lock is free (acquire, inspect), or did not confirm (extend, release). Not the same as
 * "busy": nobody knows. Code `ERR_LOCK_UNAVAILABLE`; `cause` is what Redis or the connection said.
 */
export class LockUnavailableError extends RedisPatternsError {
  constructor(
    /** Key of the lock in Redis. */
    readonly key: string,
    what: string,
    cause?: unknown,
  ) {
    super('ERR_LOCK_UNAVAILABLE', `Lock '${key}': ${what}`, { cause });
  }
}

/**
 * The caller holds this lock already, in this async context, so that it would wait for itself. Code `ERR_LOCK_REENTRY`.
 */
export class LockReentryError extends RedisPatternsError {
  constructor(
    /** Key of the lock in Redis. */
    readonly key: string,
    remedy = "pass on its handle, or set 'reentrant: true' to share it",
  ) {
    super('ERR_LOCK_REENTRY', `Lock '${key}' is held already by the code that asks for it; ${remedy}`);
  }
}
