import { z } from 'zod';
import { durationSchema, parseOptions, type Duration } from '../core/index.js';

/** Options of the locks of an application, and defaults of every call. */
export interface LockOptions {
  /** Name of the connection. Default `'default'`. Locks belong on a Redis that evicts nothing (`noeviction`). */
  connection?: string;
  /** How long a lock lives without a renewal, 100 ms to 24 days. Default 30 s. */
  lease?: Duration;
  /** How long to wait for a busy lock, up to 24 days. Default 0: one try. */
  wait?: Duration;
  /** Longest time that a lock is held, renewals included; never less than its lease. Default 1 h. */
  maxHold?: Duration;
  /** Whether a held lock is renewed until it is released. Default: `true` in `using` and `@WithLock`, `false` in `acquire`. */
  autoExtend?: boolean;
  /**
   * What `using` does when the function succeeded but the lock was lost meanwhile. Default `'throw'`: {@link LockLostError}.
   * `'ignore'`: the result of the function.
   */
  onLost?: 'throw' | 'ignore';
  /** How long a shutdown waits for functions that run under a lock. Default 10 s. */
  shutdownTimeout?: Duration;
}

/** Options of one acquisition; what is left out comes from {@link LockOptions}. */
export interface LockCallOptions extends Pick<LockOptions, 'lease' | 'wait' | 'maxHold' | 'autoExtend'> {
  /**
   * Whether code that holds the lock already, in this async context, shares it. Default `false`: {@link LockReentryError}.
   */
  reentrant?: boolean;
  /** Ends the waiting; the call rejects with `signal.reason`. */
  signal?: AbortSignal;
}

/** Options of `using`. */
export interface LockUsingOptions extends LockCallOptions, Pick<LockOptions, 'onLost'> {}

/** Parsed {@link LockOptions}; times are milliseconds. */
export interface ResolvedLockOptions {
  readonly connection?: string | undefined;
  readonly lease: number;
  readonly wait: number;
  readonly maxHold: number;
  readonly autoExtend?: boolean | undefined;
  readonly onLost: 'throw' | 'ignore';
  readonly shutdownTimeout: number;
}

/** Everything that one acquisition needs to know; times are milliseconds. */
export interface ResolvedLockCall {
  readonly lease: number;
  readonly wait: number;
  readonly maxHold: number;
  readonly autoExtend: boolean;
  readonly onLost: 'throw' | 'ignore';
  readonly reentrant: boolean;
  readonly signal: AbortSignal | undefined;
}

// A timer of more than 2^31 ms would fire at once.
const LONGEST = 24 * 86_400_000;
const lease = () => durationSchema({ min: 100, max: LONGEST });
const time = () => durationSchema({ max: LONGEST });
const onLost = () => z.enum(['throw', 'ignore'], "must be 'throw' or 'ignore'");

const schema = z.strictObject({
  connection: z.string().optional(),
  lease: lease().prefault('30s'),
  wait: time().prefault(0),
  maxHold: time().prefault('1h'),
  autoExtend: z.boolean().optional(),
  onLost: onLost().default('throw'),
  shutdownTimeout: time().prefault('10s'),
});

const callShape = {
  lease: lease().optional(),
  wait: time().optional(),
  maxHold: time().optional(),
  autoExtend: z.boolean().optional(),
  reentrant: z.boolean().optional(),
  signal: z.custom<AbortSignal>((value) => value instanceof AbortSignal, 'must be an AbortSignal').optional(),
};

/** Schema of {@link LockCallOptions}. */
export const lockCallSchema = z.strictObject(callShape);
/** Schema of {@link LockUsingOptions}. */
export const lockUsingSchema = z.strictObject({ ...callShape, onLost: onLost().optional() });

/** Schema of a lease, for `extend()`. */
export const leaseSchema = z.strictObject({ lease: lease() });

/** @throws InvalidOptionsError */
export function resolveLockOptions(raw: unknown, where: string): ResolvedLockOptions {
  return parseOptions(schema, raw ?? {}, where, 'lock');
}

/** A parsed call, with the defaults of the service filled in. */
export function mergeLockCall(
  call: z.output<typeof lockUsingSchema>,
  defaults: ResolvedLockOptions,
  autoExtend: boolean,
): ResolvedLockCall {
  const leaseMs = call.lease ?? defaults.lease;
  return {
    lease: leaseMs,
    wait: call.wait ?? defaults.wait,
    maxHold: Math.max(leaseMs, call.maxHold ?? defaults.maxHold),
    autoExtend: call.autoExtend ?? defaults.autoExtend ?? autoExtend,
    onLost: call.onLost ?? defaults.onLost,
    reentrant: call.reentrant ?? false,
    signal: call.signal,
  };
}
