import type { Charge } from './charges.js';
import type { RateLimitResult } from './rate-limit.result.js';

/** What was decided on some charges of a request. */
export interface ChargedDecision {
  readonly charges: readonly Charge[];
  readonly result: RateLimitResult;
}

/** Gives back what a decision took, leases apart: once, however often it is called. Never rejects. */
export type RefundCharges = (charges: readonly Charge[], result: RateLimitResult) => Promise<void>;

/** What one request has been charged for, whichever guards carry the policies. */
export class RequestCharges {
  /** Decisions, also those that are still being made, by the name of the policy. */
  readonly decisions = new Map<string, Promise<ChargedDecision | undefined>>();
  readonly #running = new Set<object>();
  readonly #refunds: (() => void)[] = [];
  #failed = false;

  constructor(private readonly refund: RefundCharges) {}

  /**
   * Has a charge given back as soon as all that runs for the request has ended well; what runs for it later is charged anew.
   *
   * @param policies names of the policies that the charge was for
   */
  refundOnSuccess(policies: readonly string[], refund: () => void): void {
    this.#refunds.push(() => {
      for (const name of policies) this.decisions.delete(name);
      refund();
    });
  }

  /** One handler of the request begins (a GraphQL operation has one for each field). What never ends counts as failed. */
  begin(execution: object): void {
    this.#running.add(execution);
  }

  end(execution: object, success: boolean): void {
    if (!this.#running.delete(execution)) return;
    this.#failed ||= !success;
    if (this.#failed || this.#running.size > 0) return;
    for (const refund of this.#refunds.splice(0)) refund();
  }

  /**
   * Gives back what the request has been charged for so far, leases apart, as it turned out to cost nothing. Neither waits nor
   * fails: what Redis is not told stays taken for its window.
   */
  refundAll(): void {
    // Decisions on several policies stand there for each of them.
    for (const decision of new Set(this.decisions.values())) {
      decision.then(
        (decided) => decided && this.refund(decided.charges, decided.result),
        () => undefined,
      );
    }
  }
}

/**
 * Remembers, for as long as a request lives, what it has been charged for: several guards may carry a policy, but a request is
 * charged once.
 */
export class ChargeLedger {
  readonly #requests = new WeakMap<object, RequestCharges>();

  constructor(private readonly refund: RefundCharges) {}

  of(request: object): RequestCharges {
    let charges = this.#requests.get(request);
    if (charges === undefined) this.#requests.set(request, (charges = new RequestCharges(this.refund)));
    return charges;
  }
}
