import type { SubscriptionHandler, SubscriptionLoss } from '../connection/index.js';
import type { Arrived } from './delivery-queue.js';
import type { PendingGap } from './gap.js';

/** A message on its way to a handler, not decoded yet. */
export interface Incoming extends Arrived {
  /** As it is called in Redis. */
  readonly channel: string;
  readonly payload: string;
  /** Of a reliable channel. */
  readonly id?: string;
}

/** Where a feed puts what it has. */
export interface FeedSink {
  readonly room: number;
  push(message: Incoming): void;
  gap(gap: PendingGap): void;
}

/** Turns what comes over a channel into messages and gaps. */
export interface Feed extends SubscriptionHandler {
  /** Called when Redis has confirmed the channel; until that is over nobody has been promised anything. */
  begin(): Promise<void>;
  /** The sink has room again. */
  roomy(): void;
  close(): void;
}

export function gapOf(loss: SubscriptionLoss): PendingGap {
  return { from: loss.from, to: Date.now(), reason: loss.moved ? 'moved' : 'disconnected' };
}
