/** Changes that are remembered one by one; an older one counts as a change of every key. */
const REMEMBERED = 10_000;

/**
 * Which keys have changed lately, so that nothing that was read before a change is kept after it. Whoever reads takes the
 * time, on a clock that counts changes, before the read is sent, and asks when the reply is there.
 */
export class ChangeLog {
  #now = 0;
  /** Up to here only that something has changed is known. */
  #floor = 0;
  readonly #changes = new Map<string, number>();

  get now(): number {
    return this.#now;
  }

  changed(key: string): void {
    this.#changes.delete(key);
    this.#changes.set(key, ++this.#now);
    if (this.#changes.size <= REMEMBERED) return;
    for (const [oldest, time] of this.#changes) {
      this.#floor = time;
      this.#changes.delete(oldest);
      break;
    }
  }

  /** Any key may have changed. */
  everything(): void {
    this.#floor = ++this.#now;
    this.#changes.clear();
  }

  /** Whether what was read from then on may be kept. */
  unchangedSince(key: string, then: number): boolean {
    return this.#floor <= then && (this.#changes.get(key) ?? 0) <= then;
  }
}
