import { RedisUnavailableError } from '../connection/index.js';
import { backoffDelay, sleep } from '../core/index.js';
import type { LockCommands, LockKeys } from './lock-commands.js';

/** When a request on a socket that was lost must have arrived, or never will; milliseconds. */
const STRAGGLER = 1000;

/** What is to be cleaned up. */
export interface Leftover {
  readonly keys: LockKeys;
  readonly token: string;
  /** Milliseconds; after that the lock has ended by itself. */
  readonly leaseMs: number;
}

/**
 * Cleans up in the background after an acquire whose outcome is unknown: nobody knows of that lock, so nobody would release
 * it before its lease ends.
 */
export class Reaper {
  readonly #jobs = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(private readonly commands: LockCommands) {}

  /** Jobs that are not done. */
  get size(): number {
    return this.#jobs.size;
  }

  /** Releases a token as soon as Redis answers, and once more when a request that was overtaken must have arrived. */
  reap(leftover: Leftover): void {
    this.#start(async () => {
      if (await this.#release(leftover)) await this.#pauseAndRelease(leftover);
    });
  }

  /** Releases, a little later, a token that has been released, because a repeated acquire may still be on its way. */
  reapStraggler(leftover: Leftover): void {
    this.#start(() => this.#pauseAndRelease(leftover));
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

  async #pauseAndRelease(leftover: Leftover): Promise<void> {
    await this.#pause(STRAGGLER);
    await this.#release(leftover);
  }

  /** @returns whether Redis answered */
  async #release({ keys, token, leaseMs }: Leftover): Promise<boolean> {
    const end = performance.now() + leaseMs;
    for (let attempt = 1; ; attempt++) {
      try {
        await this.commands.release(keys, token, { deadline: this.commands.commandTimeout });
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
