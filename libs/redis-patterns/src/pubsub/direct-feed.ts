import type { SubscriptionLoss } from '../connection/index.js';
import { gapOf, type Feed, type FeedSink } from './feed.js';
import { readFrame } from './frame.js';

/** Senders whose counts are remembered, of all that ever sent to a channel. */
const MAX_SENDERS = 1000;

/** At most once: what comes is handed on, and every loss of the subscription is a gap. */
export class DirectFeed implements Feed {
  /** Last count by channel and sender. */
  readonly #counts = new Map<string, number>();

  constructor(
    private readonly sink: FeedSink,
    /** Whether the messages of a channel are texts of other programs. */
    private readonly isForeign: (channel: string) => boolean,
  ) {}

  begin(): Promise<void> {
    return Promise.resolve();
  }

  roomy(): void {}

  close(): void {}

  message(payload: Buffer, channel: string): void {
    const text = payload.toString();
    const at = Date.now();
    if (this.isForeign(channel)) return this.sink.push({ at, channel, payload: text });
    const frame = readFrame(text);
    if (frame.form === 'counted') this.#count(`${channel} ${frame.sender}`, frame.count, at);
    this.sink.push({ at, channel, payload: frame.payload, ...(frame.form === 'kept' ? { id: frame.id } : {}) });
  }

  gap(loss: SubscriptionLoss): void {
    // Holes that this gap explains are no news.
    this.#counts.clear();
    this.sink.gap(gapOf(loss));
  }

  #count(sender: string, count: number, at: number): void {
    const last = this.#counts.get(sender);
    if (last !== undefined && count > last + 1) {
      this.sink.gap({ from: at, to: at, reason: 'sequence', missed: count - last - 1 });
    }
    if (last !== undefined && count <= last) return;
    this.#counts.delete(sender);
    this.#counts.set(sender, count);
    if (this.#counts.size > MAX_SENDERS) this.#counts.delete(this.#counts.keys().next().value!);
  }
}
