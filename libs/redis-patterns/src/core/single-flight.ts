import { raceSignal } from './abort.js';

/**
 * Shares a running job between all callers of this process that ask for the same key while it runs. Nothing is kept
 * afterwards: this is no cache.
 *
 * @example
 * ```ts
 * const flights = new SingleFlight<string, Product>();
 * const product = await flights.run(key, () => repository.find(id)); // 100 callers, one query
 * ```
 */
export class SingleFlight<K, T> {
  private readonly running = new Map<K, Promise<T>>();

  /** Number of keys with a job that new callers would join. */
  get size(): number {
    return this.running.size;
  }

  /** The job that a caller would join now. */
  get(key: K): Promise<T> | undefined {
    return this.running.get(key);
  }

  /**
   * Joins the running job of a key, or starts it.
   *
   * @param signal ends the wait of this caller alone; the job goes on for the others
   * @throws what the job throws, unchanged and the same for all who share it; `signal.reason` on abort
   */
  run(key: K, start: () => PromiseLike<T> | T, signal?: AbortSignal): Promise<T> {
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    return raceSignal(this.running.get(key) ?? this.launch(key, start), signal);
  }

  /**
   * Lets later callers start anew, for example because what the job reads has changed. Those who share it keep it.
   *
   * @returns whether there was a job
   */
  detach(key: K): boolean {
    return this.running.delete(key);
  }

  /** {@link detach} for every key. */
  detachAll(): void {
    this.running.clear();
  }

  private launch(key: K, start: () => PromiseLike<T> | T): Promise<T> {
    // The async function turns a synchronous throw into a rejection; the entry is gone before any caller goes on.
    const job: Promise<T> = (async () => start())().finally(() => {
      // After a detach the key may belong to a newer job already.
      if (this.running.get(key) === job) this.running.delete(key);
    });
    this.running.set(key, job);
    return job;
  }
}
