import {
  TelemetryListener,
  type TelemetryEvents,
  type TelemetryPayload,
  type TracedOperation,
} from '../telemetry/index.js';
import type { PatternsApp } from './patterns-app.js';
import { SinkFailure } from './sink-failure.js';

/**
 * What this application's patterns tell of themselves, for dashboards and tests. Listeners are called at once, inside of what they are
 * told of, so that they must be quick; one that throws changes nothing. (Who subscribes to `node:diagnostics_channel` by hand hears
 * all applications of the process, and ends the process when he throws.)
 *
 * @example
 * ```ts
 * constructor(telemetry: RedisTelemetry) {
 *   telemetry.onOperation(({ pattern, operation, name, outcome }) => this.rows.push({ pattern, operation, name, outcome }));
 *   telemetry.on('dead-letter', ({ stream, group }) => this.page(`${stream}/${group}`));
 * }
 * ```
 */
export class RedisTelemetry {
  readonly #failure = new SinkFailure('an application');
  readonly #listeners = new Set<TelemetryListener>();

  constructor(private readonly app: PatternsApp) {}

  /** @returns ends it; the end of the application does, too */
  on<Name extends keyof TelemetryEvents>(name: Name, listener: (event: TelemetryPayload<Name>) => void): () => void {
    return this.#listen((telemetry) => telemetry.on(name, listener));
  }

  /** Is told of each operation when it has ended. */
  onOperation(listener: (operation: Readonly<TracedOperation>) => void): () => void {
    return this.#listen((telemetry) => telemetry.onOperation(listener));
  }

  onApplicationShutdown(): void {
    for (const listener of this.#listeners) listener.close();
    this.#listeners.clear();
  }

  #listen(subscribe: (telemetry: TelemetryListener) => void): () => void {
    const listener = new TelemetryListener(this.app.telemetry.app, this.#failure.report);
    this.#listeners.add(listener);
    subscribe(listener);
    return () => {
      listener.close();
      this.#listeners.delete(listener);
    };
  }
}
