import type { FailureOutcome } from '../connection/index.js';
import { toMilliseconds, type Duration } from '../core/duration.js';
import { RedisPatternsError } from '../core/errors.js';
import { checkOptionNames } from '../core/options.js';

/**
 * A message that was not published for sure. `outcome` is `'unknown'` (code `ERR_STREAM_PUBLISH`): it may stand in the
 * stream, publishing it again may make it two, so handlers should recognise `messageId`, or it should have a `dedupId`; or
 * `'not-sent'` (`ERR_STREAM_PAYLOAD_TOO_LARGE`). With `replicaAck`, a message that too few replicas have confirmed
 * (`ERR_STREAM_REPLICAS`) stands in the stream, but a failover may lose it.
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
    code: 'ERR_STREAM_PUBLISH' | 'ERR_STREAM_PAYLOAD_TOO_LARGE' | 'ERR_STREAM_REPLICAS',
    message: string,
    details: { outcome: FailureOutcome; messageId: string; cause?: unknown },
  ) {
    super(code, message, { cause: details.cause });
    this.outcome = details.outcome;
    this.messageId = details.messageId;
  }
}

/**
 * Consumers do not keep up: the stream is longer than `retention.maxBacklog` although everything finished was trimmed. The
 * message was not published. Code `ERR_STREAM_FULL`.
 */
export class StreamFullError extends RedisPatternsError {
  constructor(
    /** Name of the stream. */
    readonly stream: string,
    /** Entries in it, at the last look. */
    readonly length: number,
    maxBacklog: number,
  ) {
    super(
      'ERR_STREAM_FULL',
      `Stream '${stream}' holds ${length} entries that its groups have not finished, more than 'retention.maxBacklog' ` +
        `(${maxBacklog}). Look at its groups (StreamAdmin.groups) and delete those that nobody serves, add consumers, or ` +
        `publish less.`,
    );
  }
}

/** A group cannot be deleted while a consumer of it lives. Code `ERR_STREAM_GROUP_IN_USE`. */
export class GroupInUseError extends RedisPatternsError {
  constructor(stream: string, group: string) {
    super(
      'ERR_STREAM_GROUP_IN_USE',
      `Group '${group}' of stream '${stream}' has consumers that live, or have been silent for less than 'reapAfter'. Stop them first.`,
    );
  }
}

/**
 * The message no longer belongs to this consumer: another one may be running it. It is the reason of `ctx.signal`, and
 * what `retry`, `deadLetter`, `extend` and `commit` reject with, and with `ordering: 'key'` also `ack`. Code `ERR_STREAM_LEASE_LOST`.
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

/** A handler ran longer than its `timeout`: the reason of `ctx.signal`, and of the failed attempt. Code `ERR_STREAM_TIMEOUT`. */
export class HandlerTimeoutError extends RedisPatternsError {
  constructor(handler: string, timeout: number) {
    super(
      'ERR_STREAM_TIMEOUT',
      `${handler} ran longer than its 'timeout' of ${timeout} ms. Have it follow ctx.signal, or raise the limit.`,
    );
  }
}

/** A message was settled in two ways, for example `ctx.ack()` and `ctx.retry()`. Code `ERR_STREAM_SETTLED`. */
export class MessageSettledError extends RedisPatternsError {
  constructor(wish: string, settled: string) {
    const by = settled === 'timeout' ? `its handler's 'timeout'` : `ctx.${settled}()`;
    super('ERR_STREAM_SETTLED', `ctx.${wish}() came too late: the message is already settled by ${by}.`);
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

  /** @throws InvalidOptionsError for a `delay` that is no duration; thrown by a handler, that is a failed attempt as well */
  constructor(options: { delay?: Duration; message?: string; cause?: unknown } = {}) {
    super('ERR_STREAM_RETRY', options.message ?? 'The handler asked for another attempt', { cause: options.cause });
    checkOptionNames(options, ['delay', 'message', 'cause'], 'RetryMessageError');
    this.delay = options.delay;
    if (options.delay !== undefined) toMilliseconds(options.delay, 'RetryMessageError', 'delay');
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
