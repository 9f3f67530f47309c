/** What goes with a message. */
export interface PubSubContext {
  /** The channel that it came over, without the namespace. */
  readonly channel: string;
  /** The pattern that the channel fits, where the subscription is to one. */
  readonly pattern?: string;
  /** Id of the message, the same for all subscribers; only where delivery is reliable. */
  readonly id?: string;
  /** Aborted when the shutdown does not wait any longer. */
  readonly signal: AbortSignal;
  /** Name of the subscription. */
  readonly subscription: string;
}

/** Handles a message; a promise is waited for. What it throws is logged, and the next message is handled. */
export type PubSubHandler<T = unknown> = (payload: T, context: PubSubContext) => unknown;
