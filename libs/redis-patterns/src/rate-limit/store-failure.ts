import type { Telemetry } from '../telemetry/index.js';

/** Tells once for each time that Redis is away: what each call could tell is in the telemetry of the connection. */
export class StoreFailureReporter {
  #fails = false;

  constructor(
    private readonly telemetry: Telemetry,
    private readonly deadline: number,
  ) {}

  report(): void {
    if (this.#fails) return;
    this.#fails = true;
    this.telemetry.emit('warning', {
      pattern: 'RateLimit',
      code: 'ERR_RATE_LIMIT_UNAVAILABLE',
      message: `Redis does not decide on rate limits within ${this.deadline} ms; until it does, 'onStoreError' decides.`,
    });
  }

  over(): void {
    this.#fails = false;
  }
}
