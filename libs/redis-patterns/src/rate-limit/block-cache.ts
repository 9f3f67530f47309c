import type { Charge } from './charges.js';
import type { ResolvedPolicy } from './policy.js';
import type { Standing } from './rate-limit.result.js';

interface Refusal {
  readonly policy: ResolvedPolicy;
  readonly cost: number;
  readonly standing: Standing;
  readonly storedAt: number;
  readonly until: number;
}

/**
 * Refusals of Redis that still hold: whoever comes back before the time is answered without a command. Times are those of the
 * monotonic clock.
 */
export class BlockCache {
  /**
   * By policy and subject, as a key would have to be built first. In the order in which they came: none lives for longer than
   * `maxAge`, so that no other order is worth its time.
   */
  readonly #refusals = new Map<string, Map<string, Refusal>>();
  #size = 0;

  constructor(
    private readonly limits: { readonly max: number; readonly maxAge: number },
    private readonly now: () => number = () => performance.now(),
  ) {}

  get size(): number {
    return this.#size;
  }

  /** @param cost what was refused: it says nothing of calls that cost less */
  store({ subject, policy }: Charge, cost: number, standing: Standing): void {
    // Who holds a lease gives it back when he is done, and not at a time that is known.
    if (policy.algorithm === 'concurrency') return;
    const storedAt = this.now();
    // A timer may fire a millisecond before its time: who has waited is to be asked for in Redis.
    const holds = standing.wait < 0 ? Infinity : standing.wait - 1;
    if (holds <= 0) return;
    let refusals = this.#refusals.get(policy.name);
    if (refusals === undefined) this.#refusals.set(policy.name, (refusals = new Map()));
    if (!refusals.delete(subject)) this.#size++;
    refusals.set(subject, {
      policy,
      cost,
      standing,
      storedAt,
      until: storedAt + Math.min(holds, this.limits.maxAge),
    });
    if (this.#size > this.limits.max) this.forget(policy.name, refusals.keys().next().value!);
  }

  /** Where the subject stands, if a call of this cost is refused by what is known. */
  find({ subject, policy }: Charge, cost: number): Standing | undefined {
    const refusal = this.#refusals.get(policy.name)?.get(subject);
    if (refusal === undefined) return undefined;
    const now = this.now();
    if (now >= refusal.until || refusal.policy !== policy) {
      this.forget(policy.name, subject);
      return undefined;
    }
    if (cost < refusal.cost) return undefined;
    // What can never pass has another answer than what came too early.
    if (cost > policy.burst && refusal.standing.wait >= 0) return undefined;
    const { wait, remaining, reset } = refusal.standing;
    const elapsed = now - refusal.storedAt;
    return {
      wait: wait < 0 ? wait : Math.max(1, Math.ceil(wait - elapsed)),
      remaining,
      reset: Math.max(0, Math.ceil(reset - elapsed)),
    };
  }

  forget(policy: string, subject: string): void {
    if (this.#refusals.get(policy)?.delete(subject) === true) this.#size--;
  }
}
