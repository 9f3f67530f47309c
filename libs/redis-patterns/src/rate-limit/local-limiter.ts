import type { Mode, Ticket } from './limit-store.js';
import type { Standing } from './rate-limit.result.js';

/** Subjects that are remembered; beyond, the one that was not seen for longest begins anew. */
const MAX_KEYS = 10_000;

/** Where a ticket stands, and what follows if it is taken. */
interface Look extends Standing {
  take(units: number): Standing;
}

/**
 * Counts in this process, for the time in which Redis cannot: a token bucket of a share of the limit for each subject, and as
 * many leases as that share. A bucket is one number, the time at which it is full again (the generic cell rate algorithm, GCRA),
 * on the monotonic clock.
 */
export class LocalLimiter {
  /** In the order of their last use. */
  readonly #fullAt = new Map<string, number>();
  readonly #leases = new Map<string, number>();

  constructor(
    private readonly share: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Takes from all or none; gives where each stands afterwards, and the most units that were taken of each. */
  decide(tickets: readonly Ticket[], mode: Mode): { standings: readonly Standing[]; units: number } {
    const now = this.now();
    const looks = tickets.map((ticket) => {
      const cost = mode === 'some' ? Math.min(1, ticket.cost) : ticket.cost;
      return ticket.policy.algorithm === 'concurrency'
        ? this.#lookAtLeases(ticket, cost)
        : this.#look(ticket, cost, now);
    });
    if (mode === 'peek' || looks.some((each) => each.wait !== 0)) return { standings: looks, units: 0 };
    const units = mode === 'some' ? Math.min(...looks.map(({ remaining }) => remaining)) : Infinity;
    return { standings: looks.map((look, index) => look.take(Math.min(units, tickets[index]!.cost))), units };
  }

  /** Gives back what {@link decide} took. */
  refund({ key, policy, cost }: Ticket): void {
    const held = this.#leases.get(key);
    if (policy.algorithm === 'concurrency') {
      if (held === undefined) return;
      if (held > cost) this.#leases.set(key, held - cost);
      else this.#leases.delete(key);
      return;
    }
    const fullAt = this.#fullAt.get(key);
    if (fullAt !== undefined)
      this.#fullAt.set(key, fullAt - Math.min(cost, this.#capacity(policy.burst)) * this.#step(policy));
  }

  forget(key: string): void {
    this.#fullAt.delete(key);
  }

  get size(): number {
    return this.#fullAt.size + this.#leases.size;
  }

  /** A share below one unit would refuse everybody. */
  #capacity(units: number): number {
    return Math.max(1, units * this.share);
  }

  #step({ window, limit }: Ticket['policy']): number {
    return window / this.#capacity(limit);
  }

  #look({ key, policy }: Ticket, cost: number, now: number): Look {
    const capacity = this.#capacity(policy.burst);
    const step = this.#step(policy);
    const depth = capacity * step;
    const fullAt = Math.max(this.#fullAt.get(key) ?? now, now);
    // A call that fits the limit but not the share takes all of it.
    const after = (units: number): number => fullAt + Math.min(units, capacity) * step;
    const standing = (until: number, wait: number): Standing => ({
      wait,
      remaining: Math.max(0, Math.floor((now + depth - until) / step + 1e-6)),
      reset: Math.max(0, Math.ceil(until - now - 1e-6)),
    });
    const wait = cost > policy.burst ? -1 : Math.max(0, Math.ceil(after(cost) - depth - now - 1e-6));
    const take = (units: number): Standing => {
      if (units > 0) this.#store(key, after(units), now);
      return standing(after(units), 0);
    };
    return { ...standing(fullAt, wait), take };
  }

  #lookAtLeases({ key, policy }: Ticket, cost: number): Look {
    const capacity = Math.floor(this.#capacity(policy.limit));
    const held = this.#leases.get(key) ?? 0;
    const room = Math.max(0, capacity - held);
    // As with a bucket: a call that fits the limit but not the share takes all of it.
    const fits = Math.min(cost, capacity) <= room;
    const wait = cost > policy.limit ? -1 : fits ? 0 : policy.window;
    const take = (units: number): Standing => {
      if (units > 0) this.#leases.set(key, held + units);
      return { wait: 0, remaining: Math.max(0, room - units), reset: policy.window };
    };
    return { wait, remaining: room, reset: held > 0 ? policy.window : 0, take };
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
