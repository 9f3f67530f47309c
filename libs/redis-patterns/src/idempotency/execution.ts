import { startTimer, type Timer } from '../core/index.js';
import type { Claim, IdempotencyCommands } from './idempotency-commands.js';
import { IdempotencyLostError } from './idempotency.errors.js';

/** What a function that runs under an idempotency key is given. */
export interface IdempotencyContext {
  /** Key of the record in Redis. */
  readonly key: string;
  /** Of this run alone. */
  readonly token: string;
  /**
   * Server time in microseconds at which the run began: a later run of the key has a greater one, as long as no clock goes back
   * further than a lease. Have the resource refuse a smaller one than it has seen. (`onStoreError: 'open'` without Redis: the
   * clock of this process.)
   */
  readonly fence: bigint;
  /** Aborts, with an {@link IdempotencyLostError}, when the run may no longer be the only one. */
  readonly signal: AbortSignal;
}

/** How soon a renewal that failed is tried again, milliseconds. */
const RETRY = 250;

/** One run while it lasts: its lease, renewed every third of it, and what it is told when that is lost. */
export class Execution implements IdempotencyContext {
  /** When the lease ends, on the clock of `performance.now()`. */
  #deadline: number;
  #renewAt: number;
  #extending = false;
  #ended = false;
  #lost: IdempotencyLostError | undefined;
  #controller: AbortController | undefined;
  #timer: Timer | undefined;
  readonly #work = new Set<Promise<unknown>>();
  // Private to the language: whoever prints what a function is given would else print the whole application.
  readonly #claim: Claim;
  readonly #fence: bigint;
  readonly #commands: IdempotencyCommands;
  readonly #lease: number;

  /** @param begunAt when the request that began it was sent; `undefined` without a record, in which case there is no lease */
  constructor(claim: Claim, fence: bigint, commands: IdempotencyCommands, lease: number, begunAt: number | undefined) {
    this.#claim = claim;
    this.#fence = fence;
    this.#commands = commands;
    this.#lease = lease;
    this.#deadline = begunAt === undefined ? Infinity : begunAt + lease;
    this.#renewAt = begunAt === undefined ? Infinity : begunAt + lease / 3;
    this.#arm();
  }

  get claim(): Claim {
    return this.#claim;
  }

  get key(): string {
    return this.#claim.record;
  }

  get token(): string {
    return this.#claim.token;
  }

  get fence(): bigint {
    return this.#fence;
  }

  /** Whether Redis knows of the run. */
  get hasRecord(): boolean {
    return this.#deadline !== Infinity;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    // The clock is right before a timer that was held up has run.
    if (!this.#ended && performance.now() >= this.#deadline) this.lose('expired');
    if (this.#lost !== undefined) this.#controller.abort(this.#lost);
    return this.#controller.signal;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Watches work that may go on when the run has failed for its caller. */
  watch(work: Promise<unknown>): void {
    const remove = (): unknown => this.#work.delete(work);
    this.#work.add(work);
    work.then(remove, remove);
  }

  get isWorking(): boolean {
    return this.#work.size > 0;
  }

  /** Resolves when the work has ended; with whether any of it has succeeded. */
  async workEnds(): Promise<boolean> {
    return (await Promise.allSettled(this.#work)).some(({ status }) => status === 'fulfilled');
  }

  /** Tells the function to stop. */
  lose(reason: IdempotencyLostError['reason']): void {
    if (this.#lost !== undefined || this.#ended) return;
    this.#lost = new IdempotencyLostError(reason);
    this.#timer?.clear();
    this.#controller?.abort(this.#lost);
  }

  /** The function has ended: no renewals any more. */
  end(): void {
    this.#ended = true;
    this.#timer?.clear();
  }

  #arm(): void {
    this.#timer?.clear();
    if (this.#ended || this.#lost !== undefined || !this.hasRecord) return;
    const due = this.#extending ? this.#deadline : Math.min(this.#renewAt, this.#deadline);
    this.#timer = startTimer(Math.ceil(due - performance.now()), () => this.#onTimer());
  }

  #onTimer(): void {
    const now = performance.now();
    if (now >= this.#deadline) return this.lose('expired');
    if (now >= this.#renewAt && !this.#extending) void this.#extend(this.#deadline - now);
    this.#arm();
  }

  async #extend(left: number): Promise<void> {
    const lease = this.#lease;
    this.#extending = true;
    try {
      const deadline = Math.min(left, this.#commands.commandTimeout);
      const { reply, sentAt } = await this.#commands.extend(this.#claim, lease, deadline);
      if (reply === 0) this.lose('taken');
      this.#deadline = sentAt + lease;
      this.#renewAt = sentAt + lease / 3;
    } catch {
      // The connection has told of it; until the lease ends there is time to try again.
      this.#renewAt = performance.now() + Math.min(RETRY, lease / 10);
    }
    this.#extending = false;
    this.#arm();
  }
}
