import { toMilliseconds, type Duration } from '../core/duration.js';
import type { HeldEntry } from './reader/held.js';
import type { ReaderScope } from './reader/scope.js';
import { LeaseLostError, MessageSettledError } from './stream.errors.js';
import type { RawMessage } from './message.js';

/** How a handler settled its message by hand. */
export type Settlement = 'ack' | 'retry' | 'deadLetter';

/** What a context asks of its reader. */
export interface ContextActions {
  ack(entry: HeldEntry): Promise<void>;
  deadLetter(entry: HeldEntry, reason: string): Promise<void>;
  extend(entry: HeldEntry): Promise<void>;
}

/** How the handler settled the message itself; for the reader, when the handler has returned. */
export interface Decision {
  settled: Settlement | undefined;
  retryDelay: number | undefined;
  /** The dead letter on its way, for handlers that do not wait for it. */
  burial: Promise<void> | undefined;
}

/**
 * What a handler knows of its message, and what it can do with it. A handler that resolves acknowledges; one that throws
 * has its message run again: most need none of the methods.
 *
 * @example
 * ```ts
 * @StreamConsumer({ stream: 'orders', group: 'billing' })
 * async bill(@MessageBody() order: Order, @MessageContext() ctx: StreamContext) {
 *   await fetch(url, { signal: ctx.signal, headers: { 'idempotency-key': ctx.messageId } });
 * }
 * ```
 */
export class StreamContext {
  readonly #entry: HeldEntry;
  readonly #scope: ReaderScope;
  readonly #message: RawMessage;
  readonly #actions: ContextActions;
  readonly #decision: Decision;

  /** @internal */
  constructor(
    parts: { entry: HeldEntry; scope: ReaderScope; message: RawMessage; actions: ContextActions; decision: Decision },
    /** Texts that the producer sent along. */
    readonly headers: Readonly<Record<string, string>>,
  ) {
    this.#entry = parts.entry;
    this.#scope = parts.scope;
    this.#message = parts.message;
    this.#actions = parts.actions;
    this.#decision = parts.decision;
  }

  /** Id of the entry in the stream. */
  get id(): string {
    return this.#entry.id;
  }

  /** Id of the message, given by the producer: the same in every attempt. The key for effects outside of Redis. */
  get messageId(): string {
    return this.#message.messageId ?? this.#entry.id;
  }

  /** Name of the stream. */
  get stream(): string {
    return this.#scope.stream;
  }

  get group(): string {
    return this.#scope.group;
  }

  /** Name of this process in the group. */
  get consumer(): string {
    return this.#scope.consumer;
  }

  get type(): string | undefined {
    return this.#message.type;
  }

  get key(): string | undefined {
    return this.#message.key;
  }

  /** Number of this attempt, from 1; attempts that failed count, also those of other processes. */
  get attempt(): number {
    return this.#entry.failures + 1;
  }

  /** How often consumers began with it, from 1: more than 1 after a crash, or after a lost lease. */
  get deliveryCount(): number {
    return this.#entry.deliveries;
  }

  /** Aborts when the lease is lost (`LeaseLostError`) or the application stops waiting (`StreamDrainedError`). */
  get signal(): AbortSignal {
    return this.#entry.signal;
  }

  /**
   * Acknowledges now, before the handler ends; what happens afterwards no longer matters to the message.
   *
   * @returns when Redis has confirmed it
   * @throws MessageSettledError after `retry()` or `deadLetter()`
   */
  async ack(): Promise<void> {
    if (this.#decision.settled === 'ack') return;
    this.#settle('ack');
    await this.#actions.ack(this.#entry);
  }

  /**
   * Has the message run again when the handler has ended, instead of acknowledging it. Counts as a failed attempt.
   *
   * @param options `delay` instead of the back-off
   * @throws LeaseLostError, MessageSettledError
   */
  // oxlint-disable-next-line typescript/require-await
  async retry(options: { delay?: Duration } = {}): Promise<void> {
    const { delay } = options;
    const ms = delay === undefined ? undefined : toMilliseconds(delay, 'StreamContext.retry', 'delay');
    this.#assertLease();
    this.#settle('retry');
    this.#decision.retryDelay = ms;
  }

  /**
   * Makes the message a dead letter now.
   *
   * @param reason stands in the dead letter as `x-dlq-error`
   * @throws LeaseLostError, MessageSettledError; RedisUnavailableError, and then the message is not settled
   */
  async deadLetter(reason: string): Promise<void> {
    this.#assertLease();
    this.#settle('deadLetter');
    try {
      this.#decision.burial = this.#actions.deadLetter(this.#entry, reason);
      await this.#decision.burial;
    } catch (error) {
      this.#decision.settled = undefined;
      throw error;
    }
  }

  /**
   * Renews the lease now, and says whether it is still held: for handlers that block the event loop for long.
   *
   * @param ms how long the next block of work may take; at most the lease is given
   * @throws LeaseLostError; RedisUnavailableError when that is not known
   */
  async extend(ms?: Duration): Promise<void> {
    if (ms !== undefined) toMilliseconds(ms, 'StreamContext.extend', 'ms');
    this.#assertLease();
    await this.#actions.extend(this.#entry);
  }

  #settle(wish: Settlement): void {
    const { settled } = this.#decision;
    if (settled !== undefined) throw new MessageSettledError(wish, settled);
    this.#decision.settled = wish;
  }

  #assertLease(): void {
    if (this.#entry.lost) throw new LeaseLostError(this.#entry.id, this.#scope.label);
  }
}
