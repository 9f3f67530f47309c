import type { Duration } from '../core/index.js';
import type { HeldLock } from './held-lock.js';
import { LockLostError } from './lock.errors.js';
import { checkLease } from './lock.options.js';

/**
 * A lock that was taken. Made by `LockService`, never by hand.
 *
 * @example
 * ```ts
 * await using lock = await locks.acquire(['order', id]);        // released at the end of the block
 * await db.query('UPDATE orders SET …, fence = $1 WHERE id = $2 AND fence < $1', [lock.fence, id]);
 * lock.assertHeld();                                            // before what cannot be taken back
 * ```
 */
export class LockHandle {
  #released: Promise<boolean> | undefined;

  /** @internal */
  constructor(private readonly held: HeldLock) {
    // Not enumerable: a handle that is logged shows what toJSON() does.
    Object.defineProperty(this, 'held', { enumerable: false });
  }

  /** Key of the lock in Redis. */
  get key(): string {
    return this.held.keys.lock;
  }

  /** What Redis keeps as the holder. Whoever knows it can release the lock. */
  get token(): string {
    return this.held.grant.token;
  }

  /**
   * A number that grows with every grant of this key. The resource itself must check it (`WHERE fence < $1`), if two
   * holders after a failover, a flush or a long pause of this process would do harm.
   */
  get fence(): bigint {
    return this.held.grant.fence;
  }

  /**
   * Aborts when the lock is lost, by its deadline at the latest, whatever Redis and the network do; `reason` is a
   * {@link LockLostError}. A release does not abort it.
   */
  get signal(): AbortSignal {
    return this.held.signal;
  }

  /**
   * When the holder must stop unless the lock is renewed before, on the clock of `performance.now()`: a little before the
   * lease ends in Redis, counted from before it was asked for.
   */
  get deadline(): number {
    return this.held.deadline;
  }

  /** Milliseconds until {@link deadline}; 0 when it is not held any more. */
  remaining(): number {
    return this.isHeld() ? Math.max(0, this.held.deadline - performance.now()) : 0;
  }

  /** Whether the lock is held: not released, not lost, before its deadline. Reads the clock, asks nobody. */
  isHeld(): boolean {
    return this.#released === undefined && this.held.isHeld;
  }

  /** @throws LockLostError when it is not held any more */
  assertHeld(): void {
    if (this.#released !== undefined) throw this.held.lost ?? new LockLostError(this.key, 'expired');
    this.held.assertHeld();
  }

  /**
   * Makes the lock last at least one lease more, counted from now; never shortens it.
   *
   * @param lease 100 ms to 24 days. Default: the lease it was taken with
   * @throws LockLostError when it is not held any more
   * @throws LockUnavailableError when Redis did not confirm within 1 s; the lock is held until its deadline
   */
  async extend(lease?: Duration): Promise<void> {
    const ms = lease === undefined ? undefined : checkLease(lease, 'LockHandle.extend');
    this.assertHeld();
    await this.held.extend(ms);
  }

  /**
   * Gives the lock back; a shared one (`reentrant`) when its last handle is released. May be called again, and is tried for
   * 1 s.
   *
   * @returns `true` when it was held until now; `false` when it had been lost
   * @throws LockUnavailableError when Redis did not confirm; the lock then ends with its lease
   */
  release(): Promise<boolean> {
    this.#released ??= --this.held.references > 0 ? Promise.resolve(this.held.isHeld) : this.held.release();
    return this.#released;
  }

  /**
   * Whether {@link release} has been called.
   *
   * @internal
   */
  get released(): boolean {
    return this.#released !== undefined;
  }

  /**
   * Another handle of the same lock.
   *
   * @internal
   * @throws LockLostError
   */
  share(): LockHandle {
    this.assertHeld();
    this.held.references++;
    return new LockHandle(this.held);
  }

  /**
   * As {@link assertHeld}, but a release is no loss.
   *
   * @internal
   * @throws LockLostError
   */
  assertNotLost(): void {
    if (this.held.lost !== undefined) throw this.held.lost;
  }

  /** `await using`: {@link release}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /** For logs: without the token, and with the fence as text, since JSON has no bigint. */
  toJSON(): { key: string; fence: string; remainingMs: number } {
    return { key: this.key, fence: this.fence.toString(), remainingMs: Math.round(this.remaining()) };
  }
}
