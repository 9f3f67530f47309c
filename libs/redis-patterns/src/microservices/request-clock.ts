import { ServerClock } from '../buckets/index.js';

/** What is known of the time is good for so long, milliseconds: until then the clocks drift apart by some of them at most. */
const REFRESH = 10_000;

/**
 * Tells by the clock of Redis whether a time is over, without asking it for each. What Redis said is counted from the moment that it was
 * asked, so that it is never late: a time that is over is told as over, but for the drift of clocks (and for a clock of Redis that is set)
 * within ten seconds. What seems to be over is asked for.
 */
export class RequestClock {
  readonly #clock = new ServerClock();
  #goodUntil = 0;
  #asking: Promise<number> | undefined;

  /** @param ask gives the time of Redis, milliseconds since the epoch */
  constructor(private readonly ask: () => Promise<number>) {}

  /** @param time milliseconds since the epoch */
  async isOver(time: number): Promise<boolean> {
    if (performance.now() < this.#goodUntil && this.#clock.now() <= time) return false;
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    return (await this.#asking) > time;
  }

  async #ask(): Promise<number> {
    const askedAt = performance.now();
    const time = await this.ask();
    this.#clock.learn(time + (performance.now() - askedAt));
    this.#goodUntil = askedAt + REFRESH;
    return time;
  }
}
