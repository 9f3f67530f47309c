import { startTimer, type Timer } from '../../core/timer.js';
import { runScript } from '../../scripting/index.js';
import { promoteScript } from '../scripts.generated.js';
import { hardLimit } from '../stream-book.js';
import type { Held } from './held.js';
import type { ReaderScope } from './scope.js';

/** Entries of each kind that one look moves. */
const LIMIT = 100;
/** Longest time between two looks: others may have added something, or have paused the group. */
const INTERVAL = 1000;
/** Shortest: what is due at about the same time moves together. */
const LEAST = 5;

/**
 * Moves what is due: retries of the group, and delayed messages of the stream. Every member does it, so that it happens
 * whichever of them lives; the one that knows of a due time looks at that time, all others once a second.
 */
export class Promoter {
  #timer: Timer | undefined;
  #dueAt = Infinity;
  #looking = false;
  #again = false;
  #stopped = false;

  constructor(
    private readonly scope: ReaderScope,
    private readonly held: Held,
  ) {}

  start(): void {
    this.#lookIn(0);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.clear();
  }

  /** Something will be due in that time. */
  lookIn(ms: number): void {
    if (performance.now() + ms < this.#dueAt) this.#lookIn(ms);
  }

  #lookIn(ms: number): void {
    if (this.#stopped) return;
    this.#timer?.clear();
    const pause = Math.max(LEAST, ms);
    this.#dueAt = performance.now() + pause;
    this.#timer = startTimer(pause, () => void this.#look());
  }

  async #look(): Promise<void> {
    this.#dueAt = Infinity;
    if (this.#looking) {
      this.#again = true;
      return;
    }
    this.#looking = true;
    let next = INTERVAL;
    try {
      next = await this.#promote();
    } catch {
      // The gate has reported it; the next look tries again.
    }
    this.#looking = false;
    // What was added meanwhile may have been missed by the look that was under way.
    this.lookIn(this.#again ? 0 : Math.min(next, INTERVAL));
    this.#again = false;
  }

  /** @returns time until something is due, milliseconds */
  async #promote(): Promise<number> {
    const { context, keys, known, abandonAfter } = this.scope;
    const [promoted, next, paused] = await runScript(
      context.connection,
      promoteScript,
      [keys.stream, keys.delayed, keys.delayedBody, keys.retries, keys.due, keys.dueBody, keys.paused],
      [LIMIT, hardLimit(known), abandonAfter],
    );
    if (!this.#stopped) this.held.paused = paused === 1;
    if (promoted >= LIMIT) return 0;
    return next < 0 ? INTERVAL : next;
  }
}
