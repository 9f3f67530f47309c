/** Time between two looks, milliseconds. */
const INTERVAL = 1000;
/** Clocks are set by less than this in everyday life, milliseconds. */
const TOLERANCE = 1000;

/**
 * Notices that the machine was suspended: `performance.now()`, by which local deadlines are kept, stood still meanwhile, and the wall
 * clock did not. A wall clock that is set forward looks the same, so that this is a reason to ask Redis, and no proof.
 */
export class SuspendWatch {
  #timer: NodeJS.Timeout | undefined;
  #ahead = 0;

  constructor(
    /** Whether there is anything to watch for; else it rests until the next `start`. */
    private readonly isNeeded: () => boolean,
    /** Told how far the wall clock ran ahead since the last look, milliseconds. */
    private readonly onJump: (ms: number) => void,
  ) {}

  /** Idempotent. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#ahead = aheadNow();
    this.#timer = setInterval(() => this.#look(), INTERVAL).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    if (!this.isNeeded()) return this.stop();
    const ahead = aheadNow();
    const jump = ahead - this.#ahead;
    this.#ahead = ahead;
    if (jump > TOLERANCE) this.onJump(jump);
  }
}

function aheadNow(): number {
  return Date.now() - performance.now();
}
