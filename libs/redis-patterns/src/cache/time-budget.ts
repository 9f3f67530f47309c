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

  /** Runs one command with the deadline that is left, milliseconds. */
  async spend<T>(send: (deadline: number) => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      return await send(Math.max(this.#left, LAST_CHANCE));
    } finally {
      this.#left -= performance.now() - startedAt;
    }
  }
}
