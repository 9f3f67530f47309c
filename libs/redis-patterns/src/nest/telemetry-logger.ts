import { TelemetryListener, type Telemetry, type TelemetryPayload } from '../telemetry/index.js';
import { FoldedLog } from './folded-log.js';
import type { ResolvedTelemetryOptions } from './telemetry.options.js';

/** Writes what one application should know to its logger: a line for each change of a state, repeats folded. */
export class TelemetryLogger {
  readonly #listener: TelemetryListener;
  readonly #log: FoldedLog;
  /** Sockets that are known to be down, and when that was said last: a reconnection attempt that fails is no news. */
  readonly #down = new Map<string, number>();

  constructor(
    telemetry: Telemetry,
    private readonly options: ResolvedTelemetryOptions,
  ) {
    this.#listener = new TelemetryListener(telemetry.app);
    this.#log = new FoldedLog(options.logger === false ? undefined : options.logger, options.logRepeat);
  }

  start(): void {
    const { logger, slow } = this.options;
    if (logger === false) return;
    this.#listener
      .on('connection', (event) => this.#connection(event))
      .on('breaker', (event) => this.#breaker(event))
      .on('gap', (event) => this.#gap(event))
      .on('subscription-gap', (event) => this.#subscriptionGap(event))
      .on('lock-lost', (event) => this.#lockLost(event))
      .on('warning', ({ pattern, message }) => this.#log.write('warn', pattern, message))
      .on('error', ({ pattern, message, error }) => this.#log.write('error', pattern, message, stackOf(error)));
    if (slow === undefined) return;
    this.#listener.onOperation(({ pattern, operation, name, outcome = '', elapsedMs = 0 }) => {
      // A read that waits for messages is not slow.
      if (elapsedMs < slow || operation === 'receive') return;
      const message = `${pattern}.${operation} of ${name} took ${Math.round(elapsedMs)} ms (${outcome})`;
      this.#log.write('debug', 'Slow', message);
    });
  }

  stop(): void {
    this.#listener.close();
    this.#log.close();
  }

  #connection({ connection, role, to, reason }: TelemetryPayload<'connection'>): void {
    const socket = `${connection} (${role})`;
    if (to === 'ready') {
      if (this.#down.delete(socket))
        this.#log.state('log', 'Connection', `Redis connection '${connection}' (${role}) is back`);
    } else if (to === 'close') {
      const now = performance.now();
      const told = this.#down.get(socket);
      if (told !== undefined && now - told < this.options.logRepeat) return;
      this.#down.set(socket, now);
      const why = reason === undefined ? '' : `: ${reason}`;
      const what = told === undefined ? 'lost' : 'still lost';
      this.#log.state('warn', 'Connection', `Redis connection '${connection}' (${role}) is ${what}${why}`);
    }
  }

  #breaker({ connection, node, state }: TelemetryPayload<'breaker'>): void {
    const server = `Redis connection '${connection}': ${node}`;
    if (state === 'closed') return this.#log.state('log', 'Connection', `${server} answers again`);
    this.#log.state('warn', 'Connection', `${server} does not answer; calls to it fail at once until it does`);
  }

  #gap({ connection, kind, reason, durationMs }: TelemetryPayload<'gap'>): void {
    const what = kind === 'pubsub' ? 'messages' : 'changes of cached keys';
    const message = `Redis connection '${connection}': ${what} may have been missed for ${Math.round(durationMs)} ms (${reason})`;
    this.#log.write('warn', 'Connection', message);
  }

  /** Each loss once; a handler that is too slow for long has one after the other. */
  #subscriptionGap({ subscription, reason, ms, missed }: TelemetryPayload<'subscription-gap'>): void {
    const count = missed === undefined ? 'messages' : `${missed} messages`;
    this.#log.write('warn', 'PubSub', `${subscription} may have missed ${count} of ${Math.ceil(ms)} ms (${reason})`);
  }

  #lockLost({ kind, name, reason, heldMs }: TelemetryPayload<'lock-lost'>): void {
    const what = kind === 'leader' ? 'The lead' : kind === 'semaphore' ? 'Permits' : 'A lock';
    this.#log.write('error', 'Lock', `${what} of ${name} ended before the time: ${reason}, after ${heldMs} ms`);
  }
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}
