/** Interval of the ticks, and what counts as punctual; milliseconds. */
const TICK = 10;
const PUNCTUAL = 3;

interface Gap {
  readonly from: number;
  readonly to: number;
  readonly excess: number;
}

/** Writes down when timers of this process ran late: what a busy machine adds to every deadline is not the library's doing. */
export class Lateness {
  readonly #gaps: Gap[] = [];
  #last = performance.now();
  readonly #timer = setInterval(() => this.#tick(), TICK);

  /** Milliseconds that timers were late between two moments on the clock of `performance.now()`, of which the last is a tick ago. */
  between(from: number, to: number): number {
    const inside = this.#gaps.filter((gap) => gap.to >= from - TICK && gap.from <= to + TICK);
    return inside.reduce((sum, { excess }) => sum + excess, 0);
  }

  /** Resolves when all that has happened until now has been seen. */
  async seen(): Promise<void> {
    const now = performance.now();
    while (this.#last <= now) await new Promise((resolve) => setTimeout(resolve, TICK));
  }

  forget(): void {
    this.#gaps.length = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const now = performance.now();
    const excess = now - this.#last - TICK;
    if (excess > PUNCTUAL) this.#gaps.push({ from: this.#last, to: now, excess });
    this.#last = now;
  }
}
