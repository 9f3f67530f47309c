import type { Ticket } from './limit-store.js';
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
  /** In the order in which they came: none lives for longer than `maxAge`, so that no other order is worth its time. */
  readonly #refusals = new Map<string, Refusal>();

  constructor(
    private readonly limits: { readonly max: number; readonly maxAge: number },
    private readonly now: () => number = () => performance.now(),
  ) {}

  get size(): number {
    return this.#refusals.size;
  }

  /** @param cost what was refused: it says nothing of calls that cost less */
  store({ key, policy }: Ticket, cost: number, standing: Standing): void {
    // Who holds a lease gives it back when he is done, and not at a time that is known.
    if (policy.algorithm === 'concurrency') return;
    const storedAt = this.now();
    // A timer may fire a millisecond before its time: who has waited is to be asked for in Redis.
    const holds = standing.wait < 0 ? Infinity : standing.wait - 1;
    if (holds <= 0) return;
    this.#refusals.delete(key);
    this.#refusals.set(key, {
      policy,
      cost,
      standing,
      storedAt,
      until: storedAt + Math.min(holds, this.limits.maxAge),
    });
    if (this.#refusals.size <= this.limits.max) return;
    this.#refusals.delete(this.#refusals.keys().next().value!);
  }

  /** Where the subject stands, if a call of this cost is refused by what is known. */
  find({ key, policy }: Ticket, cost: number): Standing | undefined {
    const refusal = this.#refusals.get(key);
    if (refusal === undefined) return undefined;
    const now = this.now();
    if (now >= refusal.until || refusal.policy !== policy) {
      this.#refusals.delete(key);
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

  forget(key: string): void {
    this.#refusals.delete(key);
  }
}
