/**
 * Remembers, for as long as a request lives, which policies it has been charged for: several guards may carry a policy, but a
 * request is charged once.
 */
export class ChargeLedger<Decision> {
  readonly #requests = new WeakMap<object, Map<string, Promise<Decision | undefined>>>();

  /** Decisions on a request, also those that are still being made, by the name of the policy. */
  of(request: object): Map<string, Promise<Decision | undefined>> {
    let decisions = this.#requests.get(request);
    if (decisions === undefined) this.#requests.set(request, (decisions = new Map()));
    return decisions;
  }
}
