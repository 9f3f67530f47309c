import type { PubSubOptions } from '../pubsub/index.js';

/** Headers of a request; an event has none of them. */
export const REPLY_TO = 'x-reply-to';
export const CORRELATION_ID = 'x-correlation-id';
/** Milliseconds after the publish at which the client no longer waits. */
export const DEADLINE_MS = 'x-deadline-ms';

/** A client hears its replies here; reliable, so that they survive the loss of its connection. */
export function replyChannel(clientId: string): readonly ['reply', string] {
  return ['reply', clientId];
}

export const REPLY_CHANNELS: PubSubOptions = {
  channels: { reply: { delivery: 'reliable', maxLen: 1000, ttl: '60s' } },
  maxPending: 10_000,
};

export interface Reply {
  readonly id: string;
  readonly response?: unknown;
  readonly err?: unknown;
  readonly isDisposed?: boolean;
}
