import { startTimer, type Timer } from '../core/index.js';
import type { LimitStore, Ticket } from './limit-store.js';
import { RateLimitLeaseLostError } from './rate-limit.errors.js';
import type { RateLimitResult } from './rate-limit.result.js';

/** What a lease needs from its service. */
export interface LeaseOwner {
  readonly store: LimitStore;
  /** Milliseconds. */
  readonly commandTimeout: number;
  /** Gives back what was counted in this process. */
  refundLocal(ticket: Ticket): void;
  /** Called once, when it is being given back. */
  ended(lease: Lease): void;
}

/**
 * A place that a `'concurrency'` policy has granted. It is renewed each third of its lease until it is given back, so that only
 * a process that has crashed keeps a place for the rest of one.
 *
 * @example
 * ```ts
 * await using lease = await limits.acquire('reports', ['user', user.id]);
 * if (lease === null) throw new ServiceUnavailableException();
 * return render(report, { signal: lease.signal });
 * ```
 */
export class Lease implements AsyncDisposable {
  readonly #controller = new AbortController();
  /** Until when Redis surely counts it, on the clock of `performance.now()`. */
  #deadline: number;
  #timer: Timer | undefined;
  #released: Promise<void> | undefined;

  /** @internal */
  constructor(
    private readonly owner: LeaseOwner,
    /** Names it in Redis. */
    readonly id: string,
    /** The decision that granted it. */
    readonly result: RateLimitResult,
    private readonly tickets: readonly Ticket[],
    sentAt: number,
  ) {
    this.#deadline = surelyUntil(sentAt, this.#length);
    // What is not counted in Redis cannot be lost there.
    if (this.#inRedis) this.#renewAt(sentAt + this.#length / 3);
  }

  /** Aborts, with a `RateLimitLeaseLostError`, when it could not be renewed: others may have the place. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Gives the place back. Never rejects: what Redis was not told ends with the lease. Idempotent. */
  release(): Promise<void> {
    this.#released ??= this.#release();
    return this.#released;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  get #inRedis(): boolean {
    return this.result.source === 'redis' && this.tickets.length > 0;
  }

  get #length(): number {
    return Math.min(...this.tickets.map(({ policy }) => policy.window));
  }

  async #release(): Promise<void> {
    this.#timer?.clear();
    this.owner.ended(this);
    if (this.result.source === 'local') this.tickets.forEach((ticket) => this.owner.refundLocal(ticket));
    if (!this.#inRedis) return;
    await Promise.allSettled(this.tickets.map((ticket) => this.owner.store.lease('release', ticket, this.id)));
  }

  #renewAt(at: number): void {
    const now = performance.now();
    // Once more in time to hear of a loss, however often renewals fail.
    this.#timer = startTimer(Math.max(1, Math.min(at, this.#deadline) - now), () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const sentAt = performance.now();
    const left = this.#deadline - sentAt;
    if (left <= 0) return this.#lose();
    const deadline = Math.max(1, Math.min(this.owner.commandTimeout, left));
    const extended = await Promise.all(
      this.tickets.map((ticket) => this.owner.store.lease('extend', ticket, this.id, { deadline })),
    ).catch(() => undefined);
    if (this.#released !== undefined) return;
    if (extended?.includes(false) === true) return this.#lose();
    if (extended === undefined) return this.#renewAt(performance.now() + Math.max(10, left / 10));
    this.#deadline = surelyUntil(sentAt, this.#length);
    this.#renewAt(sentAt + this.#length / 3);
  }

  #lose(): void {
    this.#controller.abort(new RateLimitLeaseLostError(this.tickets.map(({ policy }) => policy.name)));
  }
}

/** Less 1 % for clocks of different speed, and 2 ms as expiries are whole milliseconds. */
function surelyUntil(sentAt: number, lease: number): number {
  return sentAt + lease * 0.99 - 2;
}
