import { RedisPatternsError } from '../core/errors.js';

/**
 * A channel cannot be listened to: Redis refused it, or did not confirm it in time, or the application stops. Code
 * `ERR_PUBSUB_SUBSCRIBE`; `cause` says why.
 */
export class PubSubSubscribeError extends RedisPatternsError {
  constructor(
    /** Channel or pattern. */
    readonly channel: string,
    message: string,
    cause?: unknown,
  ) {
    super('ERR_PUBSUB_SUBSCRIBE', `Channel '${channel}': ${message}`, { cause });
  }
}

/** A payload cannot go over its channel; nothing was sent. Code `ERR_PUBSUB_PAYLOAD`. */
export class PubSubPayloadError extends RedisPatternsError {
  constructor(
    readonly channel: string,
    /** What the schema says of it. */
    readonly issues: readonly string[],
  ) {
    super('ERR_PUBSUB_PAYLOAD', `The payload for channel '${channel}' does not fit: ${issues.slice(0, 10).join('; ')}`);
  }
}
