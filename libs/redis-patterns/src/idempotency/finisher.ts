import { RedisUnavailableError } from '../connection/index.js';
import { backoffDelay, sleep } from '../core/index.js';

/** Does in the background what a run has left to do in Redis, when that did not answer at once. */
export class Finisher {
  readonly #jobs = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  /** Jobs that are not done. */
  get size(): number {
    return this.#jobs.size;
  }

  /**
   * @param work safe to repeat
   * @param ms how long it is tried
   * @param onGivenUp called when Redis has not done it in that time, or refuses to
   */
  start(work: () => Promise<unknown>, ms: number, onGivenUp: () => void): void {
    const job = this.#try(work, performance.now() + ms)
      .then((done) => {
        if (!done) onGivenUp();
      })
      .finally(() => this.#jobs.delete(job));
    this.#jobs.add(job);
  }

  /** Ends the pauses, tries what is left a last time, and resolves when that is done. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#jobs);
  }

  async #try(work: () => Promise<unknown>, end: number): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      const last = this.#closing.signal.aborted || performance.now() >= end;
      try {
        await work();
        return true;
      } catch (error) {
        // What is wrong with the command itself (NOPERM, WRONGTYPE) stays wrong.
        if (last || !(error instanceof RedisUnavailableError) || error.code === 'ERR_REDIS_CLOSED') return false;
      }
      await sleep(backoffDelay(attempt, { base: 50, max: 1000 }), this.#closing.signal).catch(() => undefined);
    }
  }
}
