import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Logger } from '@nestjs/common';
import { telemetryChannel, type TelemetryEvents, type TelemetryPayload } from '../telemetry/index.js';

type Listener = (message: unknown) => void;

/** Milliseconds after which a connection that is still down is worth another line. */
const REMINDER_INTERVAL = 60_000;
/** Milliseconds between two lines about gaps of one subscription. */
const GAP_INTERVAL = 10_000;

/** Writes what one application should know to Nest's logger. Subscribers run inside of the publisher: none may throw. */
export class TelemetryLogger {
  readonly #listeners: readonly (readonly [keyof TelemetryEvents, Listener])[];
  readonly #loggers = new Map<string, Logger>();
  /** When a gap of a subscription was said last. */
  readonly #gaps = new Map<string, number>();
  /** Sockets that are known to be down, and when that was said last: a reconnection attempt that fails is no news. */
  readonly #down = new Map<string, number>();

  constructor(private readonly app: string) {
    this.#listeners = [
      this.#on('connection', (event) => this.#connection(event)),
      this.#on('breaker', (event) => this.#breaker(event)),
      this.#on('gap', (event) => this.#gap(event)),
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
    if (to === 'ready') {
      if (this.#down.delete(socket))
        this.#logger('Connection').log(`Redis connection '${connection}' (${role}) is back`);
    } else if (to === 'close') {
      const now = performance.now();
      const told = this.#down.get(socket);
      if (told !== undefined && now - told < REMINDER_INTERVAL) return;
      this.#down.set(socket, now);
      const why = reason === undefined ? '' : `: ${reason}`;
      this.#logger('Connection').warn(
        `Redis connection '${connection}' (${role}) is ${told === undefined ? 'lost' : 'still lost'}${why}`,
      );
    }
  }

  /** Each loss once; a handler that is too slow for long has one after the other. */
  #gap({ subscription, reason, ms, missed }: TelemetryPayload<'gap'>): void {
    const now = performance.now();
    const told = this.#gaps.get(subscription);
    if (told !== undefined && now - told < GAP_INTERVAL) return;
    this.#gaps.set(subscription, now);
    const count = missed === undefined ? 'messages' : `${missed} messages`;
    this.#logger('PubSub').warn(`${subscription} may have missed ${count} of ${Math.ceil(ms)} ms (${reason})`);
  }

  #breaker({ connection, node, state }: TelemetryPayload<'breaker'>): void {
    const logger = this.#logger('Connection');
    const server = `Redis connection '${connection}': ${node}`;
    if (state === 'open') logger.warn(`${server} does not answer; calls to it fail at once until it does`);
    else logger.log(`${server} answers again`);
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
