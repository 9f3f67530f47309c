import type { HeldLease } from '../held-lease.js';
import { onAbort } from '../../core/index.js';

/** One time of being the leader, from the election to the revocation. */
export class LeaderTerm {
  readonly #controller = new AbortController();
  readonly #ended: Promise<void>;

  /** @internal */
  constructor(
    /** @internal */
    readonly held: HeldLease,
  ) {
    this.#ended = new Promise((resolve) => onAbort(this.signal, () => resolve()));
    onAbort(held.signal, (reason) => this.#controller.abort(reason));
  }

  /** Grows from term to term. Pass it to whatever the leader writes to, and have that refuse a smaller one. */
  get fence(): bigint {
    return this.held.grant.fence;
  }

  /**
   * Aborts when the term is over: with a `LockLostError` when it was lost, by the clock of this process and whatever Redis
   * does, while a fifth of the lease is left before anybody else can be elected; or because of `resign()`.
   */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether it is not over. Reads the clock, so that it is right before a delayed timer has run. */
  get isCurrent(): boolean {
    return this.held.isHeld && !this.signal.aborted;
  }

  /** @internal */
  end(reason: Error): void {
    this.#controller.abort(reason);
  }

  /** @internal Resolves when it is over. */
  ended(): Promise<void> {
    return this.#ended;
  }
}
