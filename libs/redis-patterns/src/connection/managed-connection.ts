import { Cluster, type Redis } from 'ioredis';
import type { Telemetry } from '../telemetry/index.js';
import { BlockingPool } from './blocking-pool.js';
import { ClientHandle, type StateChange } from './client-handle.js';
import { RedisConnectError, type RedisCommandError, type RedisUnavailableError } from './connection.errors.js';
import type { ResolvedConnectionOptions } from './connection.schema.js';
import { Gate } from './gate.js';
import type { BlockingLease, Operation, RedisClient, RedisConnection } from './redis-connection.js';
import { awaitReady, checkServer } from './startup.js';

/** State and limits of a connection, for health answers and dashboards. */
export interface ConnectionStats {
  readonly mode: RedisConnection['mode'];
  readonly status: string;
  readonly pool: {
    readonly size: number;
    readonly inFlight: number;
    readonly blocking: number;
    readonly waiting: number;
  };
}

/** One named connection: its command sockets behind the gate, its blocking sockets, its beginning and its end. */
export class ManagedConnection implements RedisConnection {
  readonly mode: RedisConnection['mode'];
  readonly commandTimeout: number;
  readonly maxBlocking: number;
  #opened = false;
  #closing: Promise<void> | undefined;
  readonly #handles: readonly ClientHandle[];
  readonly #gate: Gate;
  readonly #blocking: BlockingPool;

  constructor(
    readonly name: string,
    namespace: string,
    private readonly options: ResolvedConnectionOptions,
    private readonly telemetry: Telemetry,
  ) {
    const { topology, commandTimeout, pool } = options;
    this.mode = topology.mode;
    this.commandTimeout = commandTimeout;
    this.maxBlocking = pool.maxBlocking;
    const socketPrefix = `${namespace}:${name}`;
    this.#handles = Array.from({ length: pool.size }, (_, n) => {
      const socketName = `${socketPrefix}:command:${n + 1}`;
      return new ClientHandle({ options, role: 'command', socketName }, this.#stateListener('command'));
    });
    this.#gate = new Gate({ connection: name, commandTimeout, ...pool }, this.#handles, (operation, error) =>
      this.#reportFailure(operation, error),
    );
    const onState = this.#stateListener('blocking');
    this.#blocking = new BlockingPool({ connection: name, options, socketPrefix, onState });
  }

  /** Begins to connect; does not wait. The first call does it too. Idempotent. */
  open(): void {
    if (this.#opened || this.#closing !== undefined) return;
    this.#opened = true;
    for (const handle of this.#handles) handle.connect();
  }

  /**
   * Waits for the server as `startup` says.
   *
   * @throws RedisConnectError when the boot must not go on
   */
  async settleBoot(): Promise<void> {
    this.open();
    const { startup, topology } = this.options;
    if (startup === 'background') {
      this.#handles[0]!.onceReady(() => (this.#gate.booting = false));
      return;
    }
    const [first] = this.#handles;
    const trouble = await awaitReady(first!, this.name, this.options);
    this.#gate.booting = false;
    if (trouble === undefined) return checkServer(first!.client, this.name, topology);
    const message = `not ready (${trouble}); check ${addressOptions(topology.mode)} and that Redis runs there`;
    if (startup === 'fail-fast') throw new RedisConnectError(this.name, message, first!.lastError);
    this.telemetry.emit('warning', {
      pattern: 'Connection',
      code: 'ERR_REDIS_CONNECT',
      message: `Redis connection '${this.name}' is ${message}. The application starts without it, and goes on as soon as it answers.`,
    });
  }

  get client(): RedisClient {
    return this.#handles[0]!.client;
  }

  run<T>(operation: Operation<T>): Promise<T> {
    if (!this.#opened) this.open();
    return this.#gate.run(operation);
  }

  withBlocking<T>(fn: (lease: BlockingLease) => Promise<T>, { signal }: { signal?: AbortSignal } = {}): Promise<T> {
    return this.#blocking.use(fn, signal);
  }

  masters(): readonly Redis[] {
    const { client } = this;
    return client instanceof Cluster ? client.nodes('master') : [client];
  }

  stats(): ConnectionStats {
    const { size, waiting } = this.#blocking;
    return {
      mode: this.mode,
      status: this.client.status,
      pool: {
        size: this.#handles.length,
        inFlight: this.#gate.inFlight,
        blocking: size,
        waiting: waiting + this.#gate.waiting,
      },
    };
  }

  /** Refuses new calls, lets those in flight end, and ends every socket within `closeTimeout`. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#gate.close(this.options.closeTimeout);
    this.#blocking.close();
    await Promise.all(this.#handles.map((handle) => handle.close()));
  }

  #reportFailure(operation: string, error: RedisUnavailableError | RedisCommandError): void {
    this.telemetry.emit('command', {
      connection: this.name,
      operation,
      outcome: error.outcome,
      code: error.code,
      ...(error.reply === undefined ? {} : { reply: error.reply }),
      elapsedMs: error.elapsedMs,
    });
  }

  #stateListener(role: string): (change: StateChange) => void {
    return (change) => this.telemetry.emit('connection', { connection: this.name, role, ...change });
  }
}

function addressOptions(mode: RedisConnection['mode']): string {
  if (mode === 'cluster') return "'nodes'";
  return mode === 'sentinel' ? "'sentinels' and 'name'" : "'url' (or 'host' and 'port')";
}
