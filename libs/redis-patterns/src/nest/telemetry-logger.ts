import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Logger } from '@nestjs/common';
import { telemetryChannel, type TelemetryEvents, type TelemetryPayload } from '../telemetry/index.js';

type Listener = (message: unknown) => void;

/** Writes what one application should know to Nest's logger. Subscribers run inside of the publisher: none may throw. */
export class TelemetryLogger {
  readonly #listeners: readonly (readonly [keyof TelemetryEvents, Listener])[];
  readonly #loggers = new Map<string, Logger>();
  /** Sockets that are known to be down, so that a reconnection attempt that fails is no news. */
  readonly #down = new Set<string>();

  constructor(private readonly app: string) {
    this.#listeners = [
      this.#on('connection', (event) => this.#connection(event)),
      this.#on('warning', ({ pattern, message }) => this.#logger(pattern).warn(message)),
      this.#on('error', ({ pattern, message, error }) => this.#logger(pattern).error(message, stackOf(error))),
    ];
  }

  start(): void {
    for (const [name, listener] of this.#listeners) subscribe(telemetryChannel(name), listener);
  }

  stop(): void {
    for (const [name, listener] of this.#listeners) unsubscribe(telemetryChannel(name), listener);
  }

  #on<Name extends keyof TelemetryEvents>(
    name: Name,
    handle: (event: TelemetryPayload<Name>) => void,
  ): readonly [Name, Listener] {
    const listener = (message: unknown): void => {
      const event = message as TelemetryPayload<Name>;
      if (event.app === this.app) handle(event);
    };
    return [name, listener];
  }

  #connection({ connection, role, to, reason }: TelemetryPayload<'connection'>): void {
    const socket = `${connection} (${role})`;
    if (to === 'ready' && this.#down.delete(socket)) {
      this.#logger('Connection').log(`Redis connection '${connection}' (${role}) is back`);
    } else if (to === 'close' && !this.#down.has(socket)) {
      this.#down.add(socket);
      const why = reason === undefined ? '' : `: ${reason}`;
      this.#logger('Connection').warn(`Redis connection '${connection}' (${role}) is lost${why}`);
    }
  }

  #logger(pattern: string): Logger {
    const context = `RedisPatterns:${pattern}`;
    const logger = this.#loggers.get(context) ?? new Logger(context);
    this.#loggers.set(context, logger);
    return logger;
  }
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}
