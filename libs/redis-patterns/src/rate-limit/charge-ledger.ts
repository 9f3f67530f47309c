/** What one request has been charged for, whichever guards carry the policies. */
export class RequestCharges<Decision> {
  /** Decisions, also those that are still being made, by the name of the policy. */
  readonly decisions = new Map<string, Promise<Decision | undefined>>();
  readonly #running = new Set<object>();
  readonly #refunds: (() => void)[] = [];
  #failed = false;

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
}

/**
 * Remembers, for as long as a request lives, what it has been charged for: several guards may carry a policy, but a request is
 * charged once.
 */
export class ChargeLedger<Decision> {
  readonly #requests = new WeakMap<object, RequestCharges<Decision>>();

  of(request: object): RequestCharges<Decision> {
    let charges = this.#requests.get(request);
    if (charges === undefined) this.#requests.set(request, (charges = new RequestCharges()));
    return charges;
  }
}
