import { startTimer, type Timer } from '../../core/timer.js';
import type { Prepared } from './preparation.js';
import type { Route } from './routes.js';

interface Gathering {
  readonly prepared: Prepared[];
  readonly timer: Timer;
}

/** Gathers messages of the same route until there are enough, or the first has waited for long enough. */
export class Batches {
  readonly #gathering = new Map<Route, Gathering>();
  readonly #full: Prepared[][] = [];

  /** @param onFull called when one is ready to be taken */
  constructor(private readonly onFull: () => void) {}

  add(prepared: Prepared, { size, wait }: { size: number; wait: number }): void {
    const { route } = prepared;
    let gathering = this.#gathering.get(route);
    if (gathering === undefined) {
      gathering = { prepared: [], timer: startTimer(wait, () => this.#close(route)) };
      this.#gathering.set(route, gathering);
    }
    gathering.prepared.push(prepared);
    if (gathering.prepared.length >= size) this.#close(route);
  }

  take(): Prepared[] | undefined {
    return this.#full.shift();
  }

  /** What is gathered stays where it is held; it is handed over. */
  stop(): void {
    for (const { timer } of this.#gathering.values()) timer.clear();
    this.#gathering.clear();
    this.#full.length = 0;
  }

  #close(route: Route): void {
    const gathering = this.#gathering.get(route);
    if (gathering === undefined) return;
    gathering.timer.clear();
    this.#gathering.delete(route);
    this.#full.push(gathering.prepared);
    this.onFull();
  }
}
