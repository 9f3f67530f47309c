import type { Ticket } from './limit-store.js';
import type { RateLimitResult } from './rate-limit.result.js';
import type { SlotAnswer } from './slots.js';

/** What was taken together, and when. */
export interface Receipt {
  readonly tickets: readonly Ticket[];
  /** Server time, microseconds. */
  readonly at: number | undefined;
}

/** What admitted calls were charged, to be given back once at most. */
export class Receipts {
  /** Only of results that do not say it themselves. */
  readonly #tickets = new WeakMap<RateLimitResult, readonly Ticket[]>();
  readonly #answers = new WeakMap<RateLimitResult, readonly SlotAnswer[]>();
  readonly #refunded = new WeakSet<RateLimitResult>();

  /** Other tickets than those of the call, or of other costs. The first word counts. */
  charged(result: RateLimitResult, tickets: readonly Ticket[]): void {
    if (!this.#tickets.has(result)) this.#tickets.set(result, tickets);
  }

  chargedAcross(result: RateLimitResult, answers: readonly SlotAnswer[]): void {
    this.#answers.set(result, answers);
  }

  /** Those of a result; `tickets` are those of the call. */
  of(result: RateLimitResult, tickets: readonly Ticket[]): Receipt[] {
    if (!result.allowed) return [];
    const took = (ticket: Ticket): boolean =>
      ticket.cost > 0 && result.policies.some(({ policy, allowed }) => allowed && policy === ticket.policy.name);
    const parts = this.#answers.get(result)?.map((each): Receipt => ({ tickets: each.tickets, at: each.reply[1] })) ?? [
      { tickets: this.#tickets.get(result) ?? tickets, at: result.at },
    ];
    return parts
      .map((part) => ({ ...part, tickets: part.tickets.filter(took) }))
      .filter((part) => part.tickets.length > 0);
  }

  /** Whether it is the first time. */
  claimRefund(result: RateLimitResult): boolean {
    if (this.#refunded.has(result)) return false;
    this.#refunded.add(result);
    return true;
  }
}
