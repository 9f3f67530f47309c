import { parseOptions, type Duration } from '../core/index.js';
import type { HeldLock } from './held-lock.js';
import { ownerOf } from './lock-commands.js';
import { LockLostError } from './lock.errors.js';
import { leaseSchema } from './lock.options.js';

/**
 * A lock that is held. Stop when `signal` aborts: from then on somebody else may have it. Pass `fence` to whatever the lock
 * protects, and have that refuse a smaller one: nothing else keeps two holders apart after a failover.
 *
 * @example
 * ```ts
 * await using lock = await locks.acquire(['order', id], { lease: '10s' });
 * await db.query('UPDATE orders SET …, fence = $1 WHERE id = $2 AND fence < $1', [lock.fence, id]);
 * ```
 */
export class LockHandle {
  #released: Promise<boolean> | undefined;

  /** @internal */
  constructor(
    /** @internal */
    readonly held: HeldLock,
  ) {}

  /** Key of the lock in Redis. */
  get key(): string {
    return this.held.keys.lock;
  }

  /** Token of this acquisition: nobody else can release or extend it. */
  get token(): string {
    return this.held.grant.token;
  }

  /** Grows with every grant of this key. */
  get fence(): bigint {
    return this.held.grant.fence;
  }

  /** Aborts, with a `LockLostError`, when the lock is lost; at the latest at `deadline`, whatever Redis does. */
  get signal(): AbortSignal {
    return this.held.signal;
  }

  /** When the lock must be considered lost, if it is not renewed: on the clock of `performance.now()`. */
  get deadline(): number {
    return this.held.deadline;
  }

  /** Milliseconds that are left of the lease; 0 when the lock is no longer held. */
  remaining(): number {
    return this.isHeld() ? Math.max(0, this.deadline - performance.now()) : 0;
  }

  /** Whether it is neither released nor lost. Reads the clock and asks nobody, so it is right before a timer has run. */
  isHeld(): boolean {
    return this.#released === undefined && this.held.isHeld;
  }

  /** @throws LockLostError when it is no longer held */
  assertHeld(): void {
    this.held.assertHeld();
    // A shared lock may still be held by others when this handle has given it back.
    if (this.released) throw new LockLostError(this.key, 'expired');
  }

  /**
   * Makes the lock last at least `lease` from now.
   *
   * @param lease 100 ms to 24 d; default: the lease that it was taken with
   * @throws LockLostError when it is lost already
   * @throws LockUnavailableError when Redis did not confirm; it is held until its `deadline`
   */
  async extend(lease?: Duration): Promise<void> {
    this.assertHeld();
    if (lease === undefined) return this.held.extend();
    return this.held.extend(parseOptions(leaseSchema, { lease }, 'LockHandle.extend()').lease);
  }

  /**
   * Gives the lock back. Idempotent. A re-entrant handle gives it back when it is the last one.
   *
   * @returns whether it was held until now
   * @throws LockUnavailableError when Redis did not confirm; the lock then ends with its lease
   */
  release(): Promise<boolean> {
    this.#released ??= this.#release();
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
   * One more handle of the same lock, for code that it runs.
   *
   * @internal
   * @throws LockLostError
   */
  share(): LockHandle {
    this.assertHeld();
    this.held.references++;
    return new LockHandle(this.held);
  }

  /** For `await using`: {@link release}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.release().then(() => undefined);
  }

  /** For logs: without the token, and with the fence as text, as JSON has no bigint. */
  toJSON(): object {
    return {
      key: this.key,
      owner: ownerOf(this.token),
      fence: this.fence.toString(),
      remainingMs: Math.round(this.remaining()),
    };
  }

  async #release(): Promise<boolean> {
    this.held.references--;
    return this.held.references > 0 ? this.held.isHeld : this.held.release();
  }
}
