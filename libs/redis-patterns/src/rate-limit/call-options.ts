import type { Duration } from '../core/index.js';

/** Options of `peek`. */
export interface PeekOptions {
  /** Units of this call, for every policy of it. An integer from 0. Default: the `cost` of each policy. */
  cost?: number;
  /** Ends the wait, with its reason. The units may have been taken nevertheless. */
  signal?: AbortSignal;
}

/** Options of `consume`. */
export interface ConsumeOptions extends PeekOptions {
  /**
   * How long to wait for room: the call tries again after `retryAfterMs`, unless that is beyond this time. There is no queue:
   * whoever comes first takes it. Default 0.
   */
  wait?: Duration;
  /** Take what is there, up to the cost, and be refused only if that is nothing; `charged` says how much. Default false. */
  upTo?: boolean;
}

/** Options of `acquire`. */
export interface AcquireOptions extends PeekOptions {
  /** How long to wait for a place. There is no queue: whoever comes first takes it. Default 0. */
  wait?: Duration;
}

/** Options of `refund`. */
export interface RefundOptions {
  /** Units to give back to every policy. An integer from 0. Default: the `cost` of each policy. */
  cost?: number;
  /** `at` of the result that is given back, so that it does not end up in a newer window. Default: the newest units there are. */
  at?: number;
}
