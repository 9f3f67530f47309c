import { refusedDelay } from './client-factory.js';

/** Refusals so close together are those of one attempt, milliseconds. */
const TOGETHER = 200;

/** Counts the attempts in a row that failed for the credentials, and says how long to leave the servers in peace. */
export class Refusals {
  #attempts = 0;
  #last = Number.NEGATIVE_INFINITY;

  /** The nodes of a Cluster refuse all at once: that is one attempt. Gives whether this refusal began a new one. */
  note(): boolean {
    const now = performance.now();
    if (now - this.#last < TOGETHER) return false;
    this.#last = now;
    this.#attempts++;
    return true;
  }

  forget(): void {
    this.#attempts = 0;
  }

  /** Milliseconds to wait, with jitter. One refusal may be a rotation that the password function has heard of by now. */
  get pause(): number {
    return this.#attempts < 2 ? 0 : refusedDelay(this.#attempts - 1);
  }
}
