import { raceSignal } from '../core/abort.js';
import type { SubscriptionHandler, SubscriptionLoss } from './redis-connection.js';

/** One handler of a channel. */
class Entry {
  confirm!: () => void;
  fail!: (error: Error) => void;
  #live = false;
  readonly #confirmation: Promise<void>;

  constructor(readonly handler: SubscriptionHandler) {
    this.#confirmation = new Promise((resolve, reject) => {
      this.confirm = () => {
        this.#live = true;
        resolve();
      };
      this.fail = reject;
    });
    // Nobody has to wait for it.
    this.#confirmation.catch(() => undefined);
  }

  confirmed(signal?: AbortSignal): Promise<void> {
    return raceSignal(this.#confirmation, signal);
  }

  /** A handler that never was confirmed has missed nothing that it was promised. */
  gap(loss: SubscriptionLoss): void {
    if (this.#live) this.handler.gap(loss);
  }

  lost(loss: SubscriptionLoss): void {
    if (this.#live) this.handler.lost?.(loss);
  }
}

/** A channel or pattern that is listened to, over any number of sockets. */
export class SubscribedChannel {
  readonly #entries = new Set<Entry>();
  /** Whether the current socket is known to listen. */
  #confirmed = false;
  #confirmedAt = 0;
  /** Why messages may have been missed, until that has been told. */
  #gap: SubscriptionLoss | undefined;

  constructor(readonly name: string) {}

  /** Whether the current socket is known to listen. */
  get confirmed(): boolean {
    return this.#confirmed;
  }

  add(handler: SubscriptionHandler): Entry {
    const entry = new Entry(handler);
    this.#entries.add(entry);
    if (this.#confirmed) entry.confirm();
    return entry;
  }

  /** @returns whether it was the last one */
  remove(entry: Entry): boolean {
    return this.#entries.delete(entry) && this.#entries.size === 0;
  }

  deliver(payload: Buffer, channel: string): void {
    // The first message may be in the same packet as the confirmation, and then it is seen first.
    this.#tellGap();
    for (const { handler } of this.#entries) handler.message(payload, channel);
  }

  confirm(): void {
    if (!this.#confirmed) this.#confirmedAt = Date.now();
    this.#confirmed = true;
    this.#tellGap();
    for (const entry of this.#entries) entry.confirm();
  }

  /**
   * Losses that follow each other without a message between them are one gap.
   *
   * @returns whether it was listened to until now
   */
  lost({ reason, moved, from }: SubscriptionLoss): boolean {
    if (!this.#confirmed) return false;
    const loss = { reason, moved, from: Math.max(from, this.#confirmedAt) };
    this.#gap ??= loss;
    this.#confirmed = false;
    for (const entry of this.#entries) entry.lost(loss);
    return true;
  }

  fail(error: Error): void {
    for (const entry of this.#entries) entry.fail(error);
  }

  #tellGap(): void {
    const loss = this.#gap;
    if (loss === undefined) return;
    this.#gap = undefined;
    for (const entry of this.#entries) entry.gap(loss);
  }
}
