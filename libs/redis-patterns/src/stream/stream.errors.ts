import type { FailureOutcome } from '../connection/index.js';
import type { Duration } from '../core/duration.js';
import { RedisPatternsError } from '../core/errors.js';

/**
 * A message that was not published for sure. `outcome` is `'unknown'` (code `ERR_STREAM_PUBLISH`): it may stand in the
 * stream, publishing it again may make it two, so handlers should recognise `messageId`; or `'not-sent'`
 * (`ERR_STREAM_PAYLOAD_TOO_LARGE`).
 *
 * @example
 * ```ts
 * catch (error) {
 *   if (error instanceof StreamPublishError && error.outcome === 'unknown') await outbox.check(error.messageId);
 * }
 * ```
 */
export class StreamPublishError extends RedisPatternsError {
  readonly outcome: FailureOutcome;
  /** What handlers would see as `ctx.messageId`. */
  readonly messageId: string;

  constructor(
    code: 'ERR_STREAM_PUBLISH' | 'ERR_STREAM_PAYLOAD_TOO_LARGE',
    message: string,
    details: { outcome: FailureOutcome; messageId: string; cause?: unknown },
  ) {
    super(code, message, { cause: details.cause });
    this.outcome = details.outcome;
    this.messageId = details.messageId;
  }
}

/**
 * The message no longer belongs to this consumer: another one may be running it. It is the reason of `ctx.signal`, and
 * what `retry`, `deadLetter` and `extend` reject with. Code `ERR_STREAM_LEASE_LOST`.
 */
export class LeaseLostError extends RedisPatternsError {
  constructor(
    /** Id of the entry. */
    readonly id: string,
    reader: string,
  ) {
    super(
      'ERR_STREAM_LEASE_LOST',
      `The lease of entry ${id} of ${reader} was lost, so another consumer may run it now. Stop this run; make 'lease' longer ` +
        `than the longest stall of this process, or await ctx.extend() between long blocks of work.`,
    );
  }
}

/** The run was cut off because the application stops; the message runs again elsewhere. Code `ERR_STREAM_DRAINED`. */
export class StreamDrainedError extends RedisPatternsError {
  constructor(reader: string, drainTimeout: number) {
    super(
      'ERR_STREAM_DRAINED',
      `A handler of ${reader} was still running ${drainTimeout} ms after the application began to stop. Raise ` +
        `'stream.drainTimeout', or have the handler follow ctx.signal; its message runs again elsewhere.`,
    );
  }
}

/** A message was settled in two ways, for example `ctx.ack()` and `ctx.retry()`. Code `ERR_STREAM_SETTLED`. */
export class MessageSettledError extends RedisPatternsError {
  constructor(wish: string, settled: string) {
    super('ERR_STREAM_SETTLED', `ctx.${wish}() came too late: the message is already settled by ctx.${settled}().`);
  }
}

/**
 * Thrown by a handler: run the message again, after `delay` instead of the back-off. It counts as a failed attempt.
 *
 * @example
 * ```ts
 * if (response.status === 429) throw new RetryMessageError({ delay: '30s' });
 * ```
 */
export class RetryMessageError extends RedisPatternsError {
  readonly delay: Duration | undefined;

  constructor(options: { delay?: Duration; message?: string; cause?: unknown } = {}) {
    super('ERR_STREAM_RETRY', options.message ?? 'The handler asked for another attempt', { cause: options.cause });
    this.delay = options.delay;
  }
}

/**
 * Thrown by a handler: no attempt will ever succeed, so the message becomes a dead letter at once.
 *
 * @example
 * ```ts
 * if (order === undefined) throw new UnrecoverableMessageError(`order ${id} does not exist`);
 * ```
 */
export class UnrecoverableMessageError extends RedisPatternsError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super('ERR_STREAM_UNRECOVERABLE', message, options);
  }
}
