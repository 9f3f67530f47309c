import type { ResolvedPolicy } from './policy.js';
import type { Standing } from './rate-limit.result.js';

/** Subjects that are remembered; beyond, the one that was not seen for longest begins anew. */
const MAX_KEYS = 10_000;

/** One policy and subject to look at. */
export interface LocalCharge {
  readonly key: string;
  readonly policy: ResolvedPolicy;
  readonly cost: number;
}

/**
 * Counts in this process, for the time in which Redis cannot: a token bucket of a share of the limit for each subject. A bucket
 * is one number, the time at which it is full again (the generic cell rate algorithm, GCRA), on the monotonic clock.
 */
export class LocalLimiter {
  /** In the order of their last use. */
  readonly #fullAt = new Map<string, number>();

  constructor(
    private readonly share: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Takes from all or none; gives where each stands afterwards. */
  decide(charges: readonly LocalCharge[], take: boolean): Standing[] {
    const now = this.now();
    const looked = charges.map((charge) => this.#look(charge, now));
    if (!take || looked.some((each) => each.wait !== 0)) return looked;
    return charges.map(({ key, cost }, index) => {
      const { next, after } = looked[index]!;
      if (cost > 0) this.#store(key, next, now);
      return after;
    });
  }

  forget(key: string): void {
    this.#fullAt.delete(key);
  }

  get size(): number {
    return this.#fullAt.size;
  }

  #look({ key, policy, cost }: LocalCharge, now: number): Standing & { next: number; after: Standing } {
    // A share below one unit would refuse everybody; a call that fits the limit but not the share takes all of it.
    const capacity = Math.max(1, policy.limit * this.share);
    const step = policy.window / capacity;
    const units = Math.min(cost, capacity);
    const fullAt = Math.max(this.#fullAt.get(key) ?? now, now);
    const next = fullAt + units * step;
    const standing = (until: number, wait: number): Standing => ({
      wait,
      remaining: Math.max(0, Math.floor((now + policy.window - until) / step + 1e-6)),
      reset: Math.max(0, Math.ceil(until - now - 1e-6)),
    });
    const wait = cost > policy.limit ? -1 : Math.max(0, Math.ceil(next - policy.window - now - 1e-6));
    return { ...standing(fullAt, wait), next, after: standing(next, 0) };
  }

  #store(key: string, fullAt: number, now: number): void {
    this.#fullAt.delete(key);
    this.#fullAt.set(key, fullAt);
    for (const [oldest, until] of this.#fullAt) {
      if (until > now && this.#fullAt.size <= MAX_KEYS) break;
      this.#fullAt.delete(oldest);
    }
  }
}
