import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { OPERATIONS, telemetryChannel } from './channels.js';
import type { TelemetryEvents, TelemetryPayload } from './events.js';
import { TRACED_PATTERNS, type TracedOperation, type TracedPattern } from './operation.js';

type Message = (message: unknown) => void;

/**
 * Listens to one application, in safety: Node ends the process for a subscriber that throws, and what throws here is told to
 * `onError` instead, once for each listener.
 */
export class TelemetryListener {
  readonly #ends: (() => void)[] = [];

  constructor(
    private readonly app: string,
    private readonly onError: (error: unknown) => void = () => undefined,
  ) {}

  /** Listens to a channel of events. */
  on<Name extends keyof TelemetryEvents>(name: Name, listener: (event: TelemetryPayload<Name>) => void): this {
    const channel = telemetryChannel(name);
    const safe = this.#safe(listener as Message);
    subscribe(channel, safe);
    this.#ends.push(() => unsubscribe(channel, safe));
    return this;
  }

  /** Listens to the ends of operations, of these patterns or of all. */
  onOperation(
    listener: (operation: TracedOperation) => void,
    patterns: readonly TracedPattern[] = TRACED_PATTERNS,
  ): this {
    const safe = this.#safe(listener as Message);
    for (const pattern of patterns) {
      const { asyncEnd } = OPERATIONS[pattern];
      asyncEnd.subscribe(safe);
      this.#ends.push(() => asyncEnd.unsubscribe(safe));
    }
    return this;
  }

  /** Ends all of it. Idempotent. */
  close(): void {
    for (const end of this.#ends.splice(0)) end();
  }

  #safe(listener: Message): Message {
    let told = false;
    return (message) => {
      try {
        if ((message as { app?: unknown }).app === this.app) listener(message);
      } catch (error) {
        if (told) return;
        told = true;
        this.onError(error);
      }
    };
  }
}
