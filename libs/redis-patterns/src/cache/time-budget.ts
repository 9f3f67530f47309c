/** Even with nothing left a command gets so long, milliseconds: enough for a Redis that is well. */
const LAST_CHANCE = 10;

/**
 * The time that one call may spend waiting for Redis, over all of its commands, so that several slow ones do not add up.
 * What it waits for else (the factory, another loader) does not count.
 */
export class TimeBudget {
  #left: number;

  /** @param ms milliseconds */
  constructor(private readonly ms: number) {
    this.#left = ms;
  }

  /** Begins anew, after a wait that had another reason than Redis. */
  refill(): void {
    this.#left = this.ms;
  }

  /** Milliseconds that the next command may take. */
  get deadline(): number {
    return Math.max(this.#left, LAST_CHANCE);
  }

  /** Takes off what a command has taken that was sent then, as `performance.now()` counts. */
  charge(sentAt: number): void {
    this.#left -= performance.now() - sentAt;
  }

  /** Runs one command with the deadline that is left, milliseconds. */
  async spend<T>(send: (deadline: number) => Promise<T>): Promise<T> {
    const sentAt = performance.now();
    try {
      return await send(this.deadline);
    } finally {
      this.charge(sentAt);
    }
  }
}
