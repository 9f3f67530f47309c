import { RedisUnavailableError } from '../connection/index.js';
import { backoffDelay, sleep } from '../core/index.js';
import type { Resource } from './resource.js';

/** When a request on a socket that was lost must have arrived, or never will; milliseconds. */
const STRAGGLER = 1000;

/** What is to be cleaned up. */
export interface Leftover {
  readonly resource: Resource;
  readonly token: string;
  /** The same caller in the queue, or `''`. */
  readonly waiter: string;
  /** Milliseconds; after that the lease has ended by itself. */
  readonly leaseMs: number;
  /** Whether a request may still be on its way, so that leaving once is not enough. */
  readonly straggler: boolean;
}

/**
 * Cleans up in the background: after an acquire whose outcome is unknown (nobody knows of that lease, so nobody would give it
 * back before it ends), and after whoever gave up waiting.
 */
export class Reaper {
  readonly #jobs = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  /** @param commandTimeout milliseconds */
  constructor(private readonly commandTimeout: number) {}

  /** Jobs that are not done. */
  get size(): number {
    return this.#jobs.size;
  }

  /** Leaves as soon as Redis answers; where a request may be on its way, once more when that must have arrived. */
  reap(leftover: Leftover): void {
    this.#start(async () => {
      if ((await this.#leave(leftover)) && leftover.straggler) await this.#pauseAndLeave(leftover);
    });
  }

  /** Leaves, a little later, with a token that has left, because a repeated acquire may still be on its way. */
  reapStraggler(leftover: Leftover): void {
    this.#start(() => this.#pauseAndLeave(leftover));
  }

  /** Ends the pauses, tries what is left a last time, and resolves when that is done. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#jobs);
  }

  #start(work: () => Promise<void>): void {
    const job = work().finally(() => this.#jobs.delete(job));
    this.#jobs.add(job);
  }

  async #pauseAndLeave(leftover: Leftover): Promise<void> {
    await this.#pause(STRAGGLER);
    await this.#leave(leftover);
  }

  /** @returns whether Redis answered */
  async #leave({ resource, token, waiter, leaseMs }: Leftover): Promise<boolean> {
    const end = performance.now() + leaseMs;
    for (let attempt = 1; ; attempt++) {
      try {
        await resource.leave(token, waiter, { deadline: this.commandTimeout });
        return true;
      } catch (error) {
        // What is wrong with the command itself (NOPERM, WRONGTYPE) stays wrong; the lease will end it.
        if (!(error instanceof RedisUnavailableError) || error.code === 'ERR_REDIS_CLOSED') return false;
      }
      if (this.#closing.signal.aborted || performance.now() >= end) return false;
      await this.#pause(backoffDelay(attempt, { base: 50, max: 1000 }));
    }
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, this.#closing.signal).catch(() => undefined);
  }
}
