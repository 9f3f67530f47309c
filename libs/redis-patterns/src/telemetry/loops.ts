/** A loop of this process that should turn all the time, such as a stream reader. Times are those of `performance.now()`. */
export interface WatchedLoop {
  /** `orders/billing`. */
  readonly name: string;
  readonly connection: string;
  /** Longest time that one turn takes when all is well, milliseconds. */
  readonly period: number;
  /** End of the last turn, be it a failed one. */
  turnedAt: number;
  /** End of the last turn that Redis answered. */
  answeredAt: number;
  /** It waits for room: handlers are busy, and no turn is due. */
  waiting: boolean;
}

/** The loops of one application. */
export class Loops implements Iterable<WatchedLoop> {
  readonly #loops = new Set<WatchedLoop>();

  /** @returns ends the watch */
  add(loop: WatchedLoop): () => void {
    this.#loops.add(loop);
    return () => void this.#loops.delete(loop);
  }

  [Symbol.iterator](): Iterator<WatchedLoop> {
    return this.#loops.values();
  }
}
