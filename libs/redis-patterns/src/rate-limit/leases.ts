import { randomUUID } from 'node:crypto';
import type { EngineContext } from '../connection/index.js';
import type { Charge } from './charges.js';
import type { Decider, DecideOptions } from './decider.js';
import { Lease, type LeaseOwner } from './lease.js';
import type { Ticket } from './limit-store.js';
import type { RateLimitResult } from './rate-limit.result.js';

/** A decision, and what it granted for a time. */
export interface Hold {
  readonly result: RateLimitResult;
  /** `null` when the call was refused. Give it back in every course. */
  readonly lease: Lease | null;
}

/** The leases of one application. */
export class Leases {
  readonly #held = new Set<Lease>();
  readonly #owner: LeaseOwner;

  constructor(
    context: EngineContext,
    private readonly decider: Decider,
  ) {
    this.#owner = {
      store: decider.store,
      commandTimeout: context.connection.commandTimeout,
      refundLocal: (ticket) => decider.local.refund(ticket),
      ended: (lease) => this.#held.delete(lease),
    };
  }

  /** Decides as {@link Decider.decide}, and holds what `'concurrency'` policies grant. */
  async hold(charges: readonly Charge[], options: DecideOptions): Promise<Hold> {
    const id = randomUUID();
    const all = charges.map((charge) => this.decider.store.ticket(charge));
    // Somebody may have been told already that Redis did not answer.
    const onLate = (): void => {
      for (const ticket of leasesOf(all)) this.decider.store.lease('release', ticket, id).catch(() => undefined);
    };
    const sentAt = performance.now();
    const result = await this.decider.decide(charges, { ...options, leaseId: id, onLate });
    if (!result.allowed) return { result, lease: null };
    const tickets = leasesOf(this.decider.receipts.of(result, all).flatMap((receipt) => receipt.tickets));
    const lease = new Lease(this.#owner, id, result, tickets, sentAt);
    this.#held.add(lease);
    return { result, lease };
  }

  /** Gives all of them back. */
  async close(): Promise<void> {
    await Promise.all([...this.#held].map((lease) => lease.release()));
  }
}

function leasesOf(tickets: readonly Ticket[]): Ticket[] {
  return tickets.filter(({ policy }) => policy.algorithm === 'concurrency');
}
