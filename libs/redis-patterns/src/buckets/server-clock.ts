/**
 * The time of Redis, as far as this process knows it: the last time that a reply told, plus what has passed since on the monotonic clock.
 * Before the first one the clock of this machine, so that nothing may rest on it that a script does not check.
 */
export class ServerClock {
  #offset: number | undefined;

  /** Whether a reply has told the time. */
  get known(): boolean {
    return this.#offset !== undefined;
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#offset === undefined ? Date.now() : Math.round(this.#offset + performance.now());
  }

  /** @param ms what Redis just said */
  learn(ms: number): void {
    this.#offset = ms - performance.now();
  }
}
