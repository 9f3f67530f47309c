import type { Telemetry } from '../telemetry/index.js';
import type { ConnectionRole } from './client-factory.js';
import type { StateChange } from './client-handle.js';
import type { RedisCommandError, RedisUnavailableError } from './connection.errors.js';

/** What a connection tells the world. No key, value, user or URL is ever part of it. */
export class ConnectionReporter {
  constructor(
    private readonly connection: string,
    private readonly telemetry: Telemetry,
  ) {}

  state(role: ConnectionRole, change: StateChange): void {
    this.telemetry.emit('connection', { connection: this.connection, role, ...change });
  }

  breaker(state: 'open' | 'closed', node: string): void {
    this.telemetry.emit('breaker', { connection: this.connection, node, state });
  }

  /** @param attempts how often it was sent */
  failure(error: RedisUnavailableError | RedisCommandError, role: ConnectionRole, attempts: number): void {
    const { operation, outcome, code, reply, elapsedMs, eventLoopDelayMs } = error;
    this.telemetry.emit('command', {
      connection: this.connection,
      role,
      operation,
      outcome,
      code,
      ...(reply === undefined ? {} : { reply }),
      elapsedMs,
      attempts,
      eventLoopDelayMs,
    });
  }

  gap(kind: 'pubsub' | 'tracking', reason: string, durationMs: number): void {
    this.telemetry.emit('gap', { connection: this.connection, kind, reason, durationMs });
  }

  warning(code: string, message: string): void {
    this.telemetry.emit('warning', { pattern: 'Connection', code, message: this.#sentence(message) });
  }

  error(code: string, message: string, error?: Error): void {
    this.telemetry.emit('error', {
      pattern: 'Connection',
      code,
      message: this.#sentence(message),
      ...(error === undefined ? {} : { error }),
    });
  }

  #sentence(message: string): string {
    return `Redis connection '${this.connection}' ${message}`;
  }
}
