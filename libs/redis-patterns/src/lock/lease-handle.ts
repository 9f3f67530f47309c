import { onAbort, parseOptions, type Duration } from '../core/index.js';
import type { HeldLease } from './held-lease.js';
import { ownerOf } from './identity.js';
import { LockLostError } from './lock.errors.js';
import { leaseSchema } from './lock.options.js';

/** Something that is held for the time of a lease. Stop when `signal` aborts: from then on somebody else may have it. */
export abstract class LeaseHandle {
  #released: Promise<boolean> | undefined;
  #controller: AbortController | undefined;

  /** @internal */
  constructor(
    /** @internal Not empty, in the order of their keys. */
    readonly leases: readonly HeldLease[],
  ) {}

  /** Its key in Redis; of several locks, the first. */
  get key(): string {
    return this.#first.key;
  }

  /** Keys of all that this handle holds, in order. */
  get keys(): readonly string[] {
    return this.leases.map(({ key }) => key);
  }

  /** Token of this acquisition: nobody else can release or extend it. Of several locks, that of the first. */
  get token(): string {
    return this.#first.grant.token;
  }

  /** Aborts, with a `LockLostError`, when it is lost; at the latest at `deadline`, whatever Redis does. */
  get signal(): AbortSignal {
    if (this.leases.length === 1) return this.#first.signal;
    if (this.#controller === undefined) {
      const controller = (this.#controller = new AbortController());
      for (const { signal } of this.leases) onAbort(signal, (reason) => controller.abort(reason));
    }
    return this.#controller.signal;
  }

  /** When it must be considered lost, if it is not renewed: on the clock of `performance.now()`. */
  get deadline(): number {
    let earliest = this.#first.deadline;
    for (const { deadline } of this.leases) earliest = Math.min(earliest, deadline);
    return earliest;
  }

  /** Milliseconds that are left of the lease; 0 when it is no longer held. */
  remaining(): number {
    return this.isHeld() ? Math.max(0, this.deadline - performance.now()) : 0;
  }

  /** Whether it is neither released nor lost. Reads the clock and asks nobody, so it is right before a timer has run. */
  isHeld(): boolean {
    return this.#released === undefined && this.leases.every((lease) => lease.isHeld);
  }

  /** @throws LockLostError when it is no longer held */
  assertHeld(): void {
    for (const lease of this.leases) lease.assertHeld();
    // A shared lock may still be held by others when this handle has given it back.
    if (this.released) throw new LockLostError(this.key, 'released');
  }

  /**
   * Makes it last at least `lease` from now.
   *
   * @param lease 100 ms to 24 d; default: the lease that it was taken with
   * @throws LockLostError when it is lost already
   * @throws LockUnavailableError when Redis did not confirm; it is held until its `deadline`
   */
  async extend(lease?: Duration): Promise<void> {
    this.assertHeld();
    const ms =
      lease === undefined ? undefined : parseOptions(leaseSchema, { lease }, `${this.constructor.name}.extend()`).lease;
    await settled(this.leases.map((each) => each.extend(ms)));
  }

  /**
   * Gives it back. Idempotent. A re-entrant handle gives it back when it is the last one.
   *
   * @returns whether it was held until now; of several, whether all were
   * @throws LockUnavailableError when Redis did not confirm; it then ends with its lease
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
   * Why it is held no more, for ever.
   *
   * @internal
   */
  get lost(): LockLostError | undefined {
    for (const { lost } of this.leases) if (lost !== undefined) return lost;
    return undefined;
  }

  /** For `await using`: {@link release}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.release().then(() => undefined);
  }

  /** For logs: without the token. */
  toJSON(): object {
    return {
      ...(this.leases.length === 1 ? { key: this.key } : { keys: this.keys }),
      owner: ownerOf(this.token),
      remainingMs: Math.round(this.remaining()),
    };
  }

  get #first(): HeldLease {
    return this.leases[0]!;
  }

  async #release(): Promise<boolean> {
    if (this.leases.length === 1) return this.#first.drop();
    const held = await settled(this.leases.map((lease) => lease.drop()));
    return held.every(Boolean);
  }
}

/** Waits for all of them, also when one fails. */
async function settled<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  if (promises.length > 1) await Promise.allSettled(promises);
  return Promise.all(promises);
}
