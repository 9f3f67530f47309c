import type { HeldEntry } from './held-entry.js';

/** Starts that were counted before an entry takes the lane of suspects. */
const SUSPECT_AFTER = 2;

/** Whether an entry may be what kills the processes that run it. */
export function isSuspect({ unfinishedStarts }: HeldEntry): boolean {
  return unfinishedStarts >= SUSPECT_AFTER;
}

/**
 * The entries that wait for a place. Those that consumers have begun with twice and not ended are suspects: one of them
 * may be what kills its process. They run one at a time, the least suspect first, so that one bad message does not take
 * the others with it to the dead letters.
 */
export class Waiting {
  #queue: (HeldEntry | undefined)[] = [];
  #head = 0;
  readonly #suspects: HeldEntry[] = [];
  #suspectRuns: HeldEntry | undefined;

  add(entry: HeldEntry): void {
    if (isSuspect(entry)) this.#suspects.push(entry);
    else this.#queue.push(entry);
  }

  take(): HeldEntry | undefined {
    if (this.#suspects.length > 0 && this.#suspectRuns === undefined) {
      this.#suspects.sort((a, b) => b.unfinishedStarts - a.unfinishedStarts);
      this.#suspectRuns = this.#suspects.pop();
      return this.#suspectRuns;
    }
    if (this.#head === this.#queue.length) return undefined;
    const entry = this.#queue[this.#head];
    this.#queue[this.#head++] = undefined;
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
    }
    return entry;
  }

  /** A run is over: the lane is free again if it was on it. */
  ended(entry: HeldEntry): void {
    if (this.#suspectRuns === entry) this.#suspectRuns = undefined;
  }
}
