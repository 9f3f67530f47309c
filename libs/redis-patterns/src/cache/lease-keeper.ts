import { Deadlines, type Expiring, type Lane } from '../core/deadlines.js';
import type { EntryStore } from './entry-store.js';

/** How long a lease is kept, milliseconds. */
export interface LeaseTimes {
  readonly lease: number;
  /** From the start; then the lease is left to run out. */
  readonly maxHold: number;
}

/**
 * Renews the leases of running loads every third of their time. A renewal that fails is tried again a third later; whether
 * the lease held is decided by the commit alone.
 */
export class LeaseKeeper {
  readonly deadlines = new Deadlines();

  constructor(
    readonly store: EntryStore,
    /** Milliseconds for one renewal. */
    readonly deadline: number,
  ) {}

  keep(entryKey: string, token: string, times: LeaseTimes): KeptLease {
    return new KeptLease(this, entryKey, token, times);
  }
}

/** The lease of a running load. Most loads end before the first renewal, so that it is little more than an entry in a list. */
export class KeptLease implements Expiring {
  startedAt = performance.now();
  before: Expiring | undefined;
  behind: Expiring | undefined;
  readonly #heldSince = this.startedAt;
  #lane: Lane | undefined;

  constructor(
    private readonly keeper: LeaseKeeper,
    private readonly entryKey: string,
    private readonly token: string,
    private readonly times: LeaseTimes,
  ) {
    this.#wait();
  }

  /** Ends the renewals. */
  stop(): void {
    this.#lane?.delete(this);
    this.#lane = undefined;
  }

  /** @internal */
  expire(): void {
    void this.#renew();
  }

  #wait(): void {
    this.#lane = this.keeper.deadlines.add(this, this.times.lease / 3);
  }

  async #renew(): Promise<void> {
    const { store, deadline } = this.keeper;
    const left = Math.ceil(this.#heldSince + this.times.maxHold - performance.now());
    const lease = Math.min(this.times.lease, left);
    if (lease <= 0) return;
    const held = await store.renew(this.entryKey, this.token, lease, { deadline }).catch(() => true);
    if (!held || this.#lane === undefined) return;
    this.startedAt = performance.now();
    this.#wait();
  }
}
