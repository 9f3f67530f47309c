/** Times of one name that are remembered. */
const REMEMBERED = 32;
/** Fewer say nothing. */
const LEAST = 8;
/** Names that are remembered: those that a program makes up at run time must not fill the memory. */
const MOST_NAMES = 200;

/** How long leases of each name were held, the last of them. */
export class HeldTimes {
  readonly #byName = new Map<string, { readonly times: Float64Array; count: number }>();

  add(name: string, ms: number): void {
    let known = this.#byName.get(name);
    if (known === undefined) {
      if (this.#byName.size >= MOST_NAMES) return;
      this.#byName.set(name, (known = { times: new Float64Array(REMEMBERED), count: 0 }));
    }
    known.times[known.count++ % REMEMBERED] = ms;
  }

  /** Milliseconds; `undefined` for a name that was held less than 8 times. */
  median(name: string): number | undefined {
    const { times, count } = this.#byName.get(name) ?? { times: [], count: 0 };
    if (count < LEAST) return undefined;
    const sorted = times.slice(0, count).toSorted();
    return sorted[Math.floor(sorted.length / 2)];
  }
}
