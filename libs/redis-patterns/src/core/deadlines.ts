import { LinkedList, type Linked } from './linked-list.js';

/** Longest delay that `setTimeout` knows; it fires a longer one at once. */
const LONGEST = 2 ** 31 - 1;

/** Lengths that are remembered while nothing of them is under way. Those that applications have are few. */
const MAX_LANES = 16;

/** Something that something happens to after a time, unless it is over before. */
export interface Expiring extends Linked<Expiring> {
  /** As `performance.now()` counts. */
  readonly startedAt: number;
  expire(): void;
}

/**
 * Deadlines of things of which many are under way. Nearly all of them last equally long, so those of one length stand in the
 * order in which they began, and need one timer, for the first of them: a timer for each costs more than the rest of a call.
 *
 * @example
 * ```ts
 * const lane = deadlines.add(call, 500); // call.expire() comes 500 ms after call.startedAt
 * lane.delete(call);
 * ```
 */
export class Deadlines {
  readonly #lanes = new Map<number, Lane>();

  #keepAlive: boolean;

  /**
   * @param options `keepAlive`: whether the process waits for them; by default it does not. Then it may also wait for one that is
   * over, until {@link release}: to let go of a timer each time that nothing is under way, and take it again, is felt by lone calls
   */
  constructor({ keepAlive = false }: { readonly keepAlive?: boolean } = {}) {
    this.#keepAlive = keepAlive;
  }

  /** @param ms milliseconds from its start */
  add(one: Expiring, ms: number): Lane {
    const whole = Math.ceil(ms);
    let lane = this.#lanes.get(whole);
    if (lane === undefined) {
      lane = new Lane(whole, this.#keepAlive, {
        isCrowded: () => this.#lanes.size > MAX_LANES,
        unused: () => this.#lanes.delete(whole),
      });
      this.#lanes.set(whole, lane);
    }
    lane.add(one);
    return lane;
  }

  /** From now on the process waits for none of them. */
  release(): void {
    this.#keepAlive = false;
    for (const lane of this.#lanes.values()) lane.release();
  }
}

/** Things whose deadline comes equally long after their start. */
export class Lane {
  /** In the order in which they began. */
  readonly #members = new LinkedList<Expiring>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly ms: number,
    private keepAlive: boolean,
    private readonly owner: { isCrowded(): boolean; unused(): void },
  ) {}

  /** @internal */
  add(one: Expiring): void {
    this.#members.add(one);
    if (this.#members.size > 1) return;
    if (this.#timer === undefined) this.#arm(this.ms);
  }

  /** It is over: nothing happens to it any more. */
  delete(one: Expiring): void {
    if (!this.#members.delete(one) || this.#members.size > 0 || this.#timer === undefined) return;
    if (this.owner.isCrowded()) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.owner.unused();
    }
    // Else the timer stays: the next one is likely to come before it fires.
  }

  /** @internal */
  release(): void {
    this.keepAlive = false;
    this.#timer?.unref();
  }

  #arm(ms: number): void {
    this.#timer = setTimeout(fire, Math.min(ms, LONGEST), this);
    if (!this.keepAlive) this.#timer.unref();
  }

  /** @internal */
  fire(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (let one = this.#members.first; one !== undefined; one = this.#members.first) {
      const left = one.startedAt + this.ms - now;
      // A timer may fire a millisecond before its time.
      if (left > 1) {
        // What has expired just now may have begun something that armed it already.
        if (this.#timer === undefined) this.#arm(left);
        return;
      }
      this.#members.delete(one);
      one.expire();
    }
    this.owner.unused();
  }
}

/** A function of its own, so that arming makes no closure. */
function fire(lane: Lane): void {
  lane.fire();
}
