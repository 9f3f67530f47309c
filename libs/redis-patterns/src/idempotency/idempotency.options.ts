import { z } from 'zod';
import { byteSizeSchema, type ByteSize } from '../codec/index.js';
import { durationSchema, parseOptions, type Duration } from '../core/index.js';

/** Options of one call or decorator; what is left out comes from {@link IdempotencyOptions}. */
export interface IdempotencyCallOptions {
  /** How long a result is replayed. Default 24 h. */
  ttl?: Duration;
  /**
   * How long a key stays taken when its owner dies, 100 ms to 24 days. It is renewed while the call runs, every third of it.
   * Default 30 s.
   */
  lease?: Duration;
  /** What a call does while another with its key runs: fail with {@link IdempotencyBusyError} (default), or wait for its result. */
  onBusy?: 'reject' | 'wait';
  /** With `onBusy: 'wait'`: how long. Default 30 s. */
  maxWait?: Duration;
  /** Longest result that is kept, as text. Default `'256kb'`. */
  maxBody?: ByteSize;
  /**
   * What happens to a repeated call whose result could not be kept: a stream, longer than `maxBody`, not JSON. `'refuse'`
   * (default): {@link IdempotencyUnkeptError}. `'rerun'`: it runs again.
   */
  onUnkept?: 'refuse' | 'rerun';
  /** Without Redis: refuse the call (`'closed'`, default), or run it unprotected (`'open'`). */
  onStoreError?: 'closed' | 'open';
}

/** Options of `idempotency` in `RedisPatternsOptions`, and defaults of every call. */
export interface IdempotencyOptions extends IdempotencyCallOptions {
  /** Name of the connection. Default `'default'`. Records belong on a Redis that evicts nothing (`noeviction`). */
  connection?: string;
  /** How long a shutdown waits for calls that run. Default 10 s. */
  shutdownTimeout?: Duration;
}

/** Options of {@link IdempotencyService.run}. */
export interface IdempotencyRunOptions extends IdempotencyCallOptions {
  /** Ends the waiting; the call rejects with `signal.reason`. It does not end a function that runs. */
  signal?: AbortSignal;
}

/** Parsed; times in milliseconds, sizes in bytes. */
export interface ResolvedIdempotencyCall {
  readonly ttl: number;
  readonly lease: number;
  readonly onBusy: 'reject' | 'wait';
  readonly maxWait: number;
  readonly maxBody: number;
  readonly onUnkept: 'refuse' | 'rerun';
  readonly onStoreError: 'closed' | 'open';
  readonly signal?: AbortSignal | undefined;
}

/** Parsed {@link IdempotencyOptions}. */
export interface ResolvedIdempotencyOptions extends ResolvedIdempotencyCall {
  readonly connection?: string | undefined;
  readonly shutdownTimeout: number;
}

// A timer of more than 2^31 ms would fire at once.
const LONGEST = 24 * 86_400_000;
const ttl = durationSchema({ min: 1 });
const lease = durationSchema({ min: 100, max: LONGEST });
const wait = durationSchema({ max: LONGEST });
const size = byteSizeSchema({ min: 1 });
const onBusy = z.enum(['reject', 'wait'], "must be 'reject' or 'wait'");
const onUnkept = z.enum(['refuse', 'rerun'], "must be 'refuse' or 'rerun'");
const onStoreError = z.enum(['closed', 'open'], "must be 'closed' or 'open'");

const schema = z.strictObject({
  connection: z.string().optional(),
  ttl: ttl.prefault('24h'),
  lease: lease.prefault('30s'),
  onBusy: onBusy.default('reject'),
  maxWait: wait.prefault('30s'),
  maxBody: size.prefault('256kb'),
  onUnkept: onUnkept.default('refuse'),
  onStoreError: onStoreError.default('closed'),
  shutdownTimeout: wait.prefault('10s'),
});

/** Schema of {@link IdempotencyCallOptions}. */
export const idempotencyCallSchema = z.strictObject({
  ttl: ttl.optional(),
  lease: lease.optional(),
  onBusy: onBusy.optional(),
  maxWait: wait.optional(),
  maxBody: size.optional(),
  onUnkept: onUnkept.optional(),
  onStoreError: onStoreError.optional(),
});

/** Schema of {@link IdempotencyRunOptions}. */
export const idempotencyRunSchema = idempotencyCallSchema.extend({
  signal: z.custom<AbortSignal>((value) => value instanceof AbortSignal, 'must be an AbortSignal').optional(),
});

/** @throws InvalidOptionsError */
export function resolveIdempotencyOptions(raw: unknown, where: string): ResolvedIdempotencyOptions {
  return parseOptions(schema, raw ?? {}, where, 'idempotency');
}

/** A parsed call, with the defaults of the service filled in. */
export function mergeIdempotencyCall(
  call: z.output<typeof idempotencyRunSchema>,
  defaults: ResolvedIdempotencyCall,
): ResolvedIdempotencyCall {
  return {
    ttl: call.ttl ?? defaults.ttl,
    lease: call.lease ?? defaults.lease,
    onBusy: call.onBusy ?? defaults.onBusy,
    maxWait: call.maxWait ?? defaults.maxWait,
    maxBody: call.maxBody ?? defaults.maxBody,
    onUnkept: call.onUnkept ?? defaults.onUnkept,
    onStoreError: call.onStoreError ?? defaults.onStoreError,
    signal: call.signal,
  };
}
