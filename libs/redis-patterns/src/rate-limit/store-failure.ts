import type { Telemetry } from '../telemetry/index.js';

/** Tells once for each time that Redis is away: what each call could tell is in the telemetry of the connection. */
export class StoreFailureReporter {
  #fails = false;

  constructor(
    private readonly telemetry: Telemetry,
    private readonly pattern: string,
    private readonly message: string,
  ) {}

  report(): void {
    if (this.#fails) return;
    this.#fails = true;
    const { pattern, message } = this;
    this.telemetry.emit('warning', { pattern, code: 'ERR_RATE_LIMIT_UNAVAILABLE', message });
  }

  over(): void {
    this.#fails = false;
  }
}
