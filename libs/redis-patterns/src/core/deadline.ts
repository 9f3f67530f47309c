import { startTimer, type Timer } from './timer.js';

/**
 * A moment by which something must have happened, on the monotonic clock of this process (`performance.now()`): no change
 * of the wall clock moves it. It is only compared with itself, never sent to another machine.
 *
 * @example
 * ```ts
 * const deadline = Deadline.after(500);
 * while (!deadline.expired) await attempt({ timeout: deadline.remaining() });
 * ```
 */
export class Deadline {
  /** A deadline that never comes. */
  static readonly never = new Deadline(Infinity);

  private constructor(
    /** The moment, as `performance.now()` counts. */
    readonly at: number,
  ) {}

  /** @param ms milliseconds from now; `Infinity` for never */
  static after(ms: number): Deadline {
    return new Deadline(performance.now() + ms);
  }

  /** Milliseconds left, never negative. */
  remaining(): number {
    return Math.max(0, this.at - performance.now());
  }

  /** Whether the moment has come. */
  get expired(): boolean {
    return performance.now() >= this.at;
  }

  /** A deadline after `ms`, or this one if it comes first: a part of a job never gets more time than the whole has left. */
  within(ms: number): Deadline {
    return performance.now() + ms < this.at ? Deadline.after(ms) : this;
  }

  /**
   * Calls back once when the moment has come.
   *
   * @param options `keepAlive`: whether the process waits for it; by default it does not
   */
  onExpire(callback: () => void, options?: { keepAlive?: boolean }): Timer {
    // Timers count from the last whole millisecond, so one more is needed not to be early.
    return startTimer(Math.ceil(this.remaining()) + 1, callback, options);
  }
}
