import { asCallContext } from '../core/call-context.js';
import { toMilliseconds, type Duration } from '../core/duration.js';
import { InvalidOptionsError } from '../core/errors.js';
import { checkOptionNames } from '../core/options.js';
import type { RawMessage } from './message.js';
import type { HeldEntry } from './reader/held-entry.js';
import type { ReaderScope } from './reader/scope.js';
import { LeaseLostError, MessageSettledError } from './stream.errors.js';
import { StreamTransaction } from './transaction.js';

/** How a handler settled its message by hand. */
export type Settlement = 'ack' | 'retry' | 'deadLetter' | 'commit';

/** What a context asks of its reader. */
export interface ContextActions {
  ack(entry: HeldEntry): Promise<void>;
  deadLetter(entry: HeldEntry, reason: string): Promise<void>;
  extend(entry: HeldEntry): Promise<void>;
  commit(entry: HeldEntry, transaction: StreamTransaction): Promise<void>;
}

/** How the handler settled the message itself; for the reader, when the handler has returned. */
export interface Decision {
  settled: Settlement | 'timeout' | undefined;
  retryDelay: number | undefined;
  /** What is on its way, for handlers that do not wait for it. */
  work: Promise<void> | undefined;
}

/** A message as its context sees it. */
export interface ContextMessage {
  readonly entry: HeldEntry;
  readonly message: RawMessage;
  readonly headers: Readonly<Record<string, string>>;
}

/** What the contexts of one reader share. */
export interface ContextReader {
  readonly scope: ReaderScope;
  readonly actions: ContextActions;
}

/**
 * What a handler knows of its message, and what it can do with it. A handler that resolves acknowledges; one that throws
 * has its message run again: most need none of the methods.
 *
 * A batch handler gets one context for the whole batch: `messages` has one for each message, in the order of the bodies, and
 * each can be settled alone; `ack()`, `retry()`, `deadLetter()` and `extend()` of the whole concern those not settled yet.
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
  readonly #message: ContextMessage;
  readonly #decision: Decision;
  readonly #reader: ContextReader;
  readonly #members: readonly StreamContext[] | undefined;
  #signal: AbortSignal | undefined;
  #acked: Promise<void> | undefined;

  /** @internal */
  constructor(message: ContextMessage, decision: Decision, reader: ContextReader, members?: readonly StreamContext[]) {
    this.#message = message;
    this.#decision = decision;
    this.#reader = reader;
    this.#members = members;
  }

  /** @internal One for all messages of a batch. */
  static ofBatch(members: readonly StreamContext[]): StreamContext {
    const first = members[0]!;
    return new StreamContext(first.#message, first.#decision, first.#reader, members);
  }

  /** Texts that the producer sent along. */
  get headers(): Readonly<Record<string, string>> {
    return this.#message.headers;
  }

  /** Id of the entry in the stream: the same in every attempt. */
  get id(): string {
    return this.#message.entry.originalId;
  }

  /** Id of the message, given by the producer: the same in every attempt. The key for effects outside of Redis. */
  get messageId(): string {
    return this.#message.message.messageId ?? this.id;
  }

  /** Name of the stream. */
  get stream(): string {
    return this.#reader.scope.stream;
  }

  get group(): string {
    return this.#reader.scope.group;
  }

  /** Name of this process in the group. */
  get consumer(): string {
    return this.#reader.scope.consumer;
  }

  get type(): string | undefined {
    return this.#message.message.type;
  }

  get key(): string | undefined {
    return this.#message.message.key;
  }

  /** The messages of a batch; without `batch` only this one. */
  get messages(): readonly StreamContext[] {
    return this.#members ?? [this];
  }

  /** Number of this attempt, from 1; attempts that failed count, also those of other processes. */
  get attempt(): number {
    return this.#message.entry.failures + 1;
  }

  /** 1, and one more for each time that a consumer began with it and did not come to an end: it crashed, or lost the lease. */
  get deliveryCount(): number {
    return this.#message.entry.unfinishedStarts + 1;
  }

  /**
   * Aborts when the lease is lost (`LeaseLostError`), the `timeout` is over (`HandlerTimeoutError`) or the application stops
   * waiting (`StreamDrainedError`). That of a batch aborts when that of any message does.
   */
  get signal(): AbortSignal {
    if (this.#members === undefined) return this.#message.entry.signal;
    this.#signal ??= AbortSignal.any(this.#members.map(({ signal }) => signal));
    return this.#signal;
  }

  /**
   * Acknowledges now, before the handler ends; what happens afterwards no longer matters to the message. It only says that the work
   * is done, so it also does without the lease; but with `ordering: 'key'` the key would go on although another consumer runs
   * the message.
   *
   * @returns when Redis has confirmed it
   * @throws LeaseLostError with `ordering: 'key'`: the message runs again, or others have run it
   * @throws MessageSettledError after `retry()`, `deadLetter()` or `commit()`
   * @throws RedisUnavailableError only when the application has stopped before Redis answered
   */
  ack(): Promise<void> {
    return seen(this.#ack());
  }

  /**
   * Has the message run again when the handler has ended, instead of acknowledging it. Counts as a failed attempt.
   *
   * @param options `delay` instead of the back-off
   * @throws LeaseLostError, MessageSettledError
   */
  retry(options: { delay?: Duration } = {}): Promise<void> {
    return seen(this.#retry(options));
  }

  /**
   * Makes the message a dead letter now.
   *
   * @param reason stands in the dead letter as `x-dlq-error`
   * @throws LeaseLostError, MessageSettledError; RedisUnavailableError, and then the message is not settled
   */
  deadLetter(reason: string): Promise<void> {
    return seen(this.#deadLetter(reason));
  }

  /**
   * Renews the lease now, and says whether it is still held: for handlers that block the event loop for long.
   *
   * @param ms moves the `timeout` of the handler, if it has one, to that time from now. The lease is always `lease` long
   * @throws LeaseLostError; RedisUnavailableError when that is not known
   */
  extend(ms?: Duration): Promise<void> {
    return seen(this.#extend(ms));
  }

  /**
   * Runs commands and acknowledges the message, both at once or neither, if the lease is still held: exactly once for what is
   * in Redis, in the hash slot of the stream. When it rejects let the error pass, so that the message runs again if nothing
   * was done. A command that fails (WRONGTYPE) leaves the ones before it done.
   *
   * @throws LeaseLostError when another consumer has it; MessageSettledError; RedisCommandError for a command that fails;
   * RedisUnavailableError when Redis did not answer
   * @example
   * ```ts
   * await ctx.commit((tx) => tx.call('INCRBY', 'sold:{shop:stream:orders}', order.count));
   * ```
   */
  commit(record: (transaction: StreamTransaction) => unknown): Promise<void> {
    return seen(this.#commit(record));
  }

  async #ack(): Promise<void> {
    if (this.#members !== undefined) return this.#forAll((one) => one.ack());
    const decision = this.#decision;
    if (decision.settled === 'ack') return this.#acked;
    if (this.#reader.scope.options.ordering === 'key') this.#assertLease();
    this.#settle('ack');
    this.#acked = this.#reader.actions.ack(this.#message.entry).catch((error: unknown) => {
      decision.settled = undefined;
      throw error;
    });
    await this.#acked;
  }

  async #retry(options: { delay?: Duration }): Promise<void> {
    if (this.#members !== undefined) return this.#forAll((one) => one.retry(options));
    checkOptionNames(options, ['delay'], 'StreamContext.retry');
    const { delay } = options;
    const ms = delay === undefined ? undefined : toMilliseconds(delay, 'StreamContext.retry', 'delay');
    this.#assertLease();
    this.#settle('retry');
    this.#decision.retryDelay = ms;
  }

  async #deadLetter(reason: string): Promise<void> {
    if (this.#members !== undefined) return this.#forAll((one) => one.deadLetter(reason));
    await this.#settleBy('deadLetter', () => this.#reader.actions.deadLetter(this.#message.entry, reason));
  }

  async #extend(ms?: Duration): Promise<void> {
    if (this.#members !== undefined) return this.#forAll((one) => one.extend(ms));
    const { entry } = this.#message;
    const wanted = ms === undefined ? undefined : toMilliseconds(ms, 'StreamContext.extend', 'ms');
    this.#assertLease();
    if (wanted !== undefined) entry.moveTimeout?.(wanted);
    await this.#reader.actions.extend(entry);
  }

  async #commit(record: (transaction: StreamTransaction) => unknown): Promise<void> {
    if (this.#members !== undefined) {
      const message = 'settles one message: call it on one of ctx.messages';
      throw new InvalidOptionsError('StreamContext.commit', [{ path: '', message }]);
    }
    const { scope, actions } = this.#reader;
    const transaction = new StreamTransaction(scope.keys.stream);
    record(transaction);
    await this.#settleBy('commit', () => actions.commit(this.#message.entry, transaction));
  }

  async #settleBy(wish: Settlement, work: () => Promise<void>): Promise<void> {
    const decision = this.#decision;
    this.#assertLease();
    this.#settle(wish);
    try {
      decision.work = work();
      await decision.work;
    } catch (error) {
      decision.settled = undefined;
      throw error;
    }
  }

  async #forAll(action: (one: StreamContext) => Promise<void>): Promise<void> {
    await Promise.all(this.#members!.filter((one) => one.#decision.settled === undefined).map(action));
  }

  #settle(wish: Settlement): void {
    const decision = this.#decision;
    if (decision.settled !== undefined) throw new MessageSettledError(wish, decision.settled);
    decision.settled = wish;
  }

  #assertLease(): void {
    const { entry } = this.#message;
    if (entry.lost) throw new LeaseLostError(entry.originalId, this.#reader.scope.label);
  }
}

asCallContext(StreamContext.prototype);

/** A handler need not wait for it: the reader does, and its failure is no unhandled rejection. */
function seen(work: Promise<void>): Promise<void> {
  work.catch(() => undefined);
  return work;
}
