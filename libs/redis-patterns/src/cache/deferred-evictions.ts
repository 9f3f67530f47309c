import { sleep } from '../core/abort.js';
import type { Telemetry } from '../telemetry/index.js';
import { RedisCommandError } from '../connection/index.js';
import type { EntryStore } from './entry-store.js';

const MAX = 10_000;
const BATCH = 100;
/** Milliseconds that one attempt waits for the connection. */
const ATTEMPT = 5_000;
/** Milliseconds between attempts. */
const PAUSE = 1_000;

/**
 * Evictions that Redis could not be told of: made when it answers again. Until then this process takes the entries for
 * missing. Kept in memory alone: another process does not know of them, and they are lost with this one.
 */
export class DeferredEvictions {
  /** Entry keys; the number tells whether a key was added again while it was being evicted. */
  readonly #pending = new Map<string, number>();
  readonly #closing = new AbortController();
  #added = 0;
  #draining = false;
  #overflowed = false;

  constructor(
    private readonly store: EntryStore,
    private readonly telemetry: Telemetry,
    private readonly max = MAX,
  ) {}

  get size(): number {
    return this.#pending.size;
  }

  has(entryKey: string): boolean {
    return this.#pending.size > 0 && this.#pending.has(entryKey);
  }

  add(entryKey: string): void {
    if (this.#closing.signal.aborted) return;
    if (this.#pending.size >= this.max && !this.#pending.has(entryKey)) this.#dropOldest();
    this.#pending.set(entryKey, this.#added++);
    if (!this.#draining) void this.#drain();
  }

  close(): void {
    this.#closing.abort();
    this.#pending.clear();
  }

  async #drain(): Promise<void> {
    this.#draining = true;
    while (this.#pending.size > 0) {
      const batch = [...this.#pending].slice(0, BATCH);
      const done = await Promise.all(batch.map(([entryKey, added]) => this.#evict(entryKey, added)));
      if (done.includes(true)) continue;
      await sleep(PAUSE, this.#closing.signal).catch(() => {});
    }
    this.#draining = false;
    this.#overflowed = false;
  }

  /** @returns whether the key is dealt with */
  async #evict(entryKey: string, added: number): Promise<boolean> {
    try {
      await this.store.evict(entryKey, 0, { deadline: ATTEMPT, wait: true, signal: this.#closing.signal });
    } catch (error) {
      if (!(error instanceof RedisCommandError)) return false;
      this.#report('A queued eviction was given up: Redis refuses the command, so trying again would not help.', error);
    }
    if (this.#pending.get(entryKey) === added) this.#pending.delete(entryKey);
    return true;
  }

  #dropOldest(): void {
    for (const oldest of this.#pending.keys()) {
      this.#pending.delete(oldest);
      break;
    }
    if (this.#overflowed) return;
    this.#overflowed = true;
    this.#report(
      `More than ${this.max} evictions are queued: the oldest are dropped, and their entries live on to their ttl.`,
    );
  }

  #report(message: string, error?: unknown): void {
    this.telemetry.emit('error', { pattern: 'Cache', code: 'ERR_CACHE_INVALIDATION', message, error });
  }
}
