import { inspect } from 'node:util';
import { Cluster, type Redis } from 'ioredis';
import { Deadline } from '../core/deadline.js';
import type { Telemetry } from '../telemetry/index.js';
import { BlockingPool } from './blocking-pool.js';
import { ClientHandle } from './client-handle.js';
import { RedisConnectError, RedisUnavailableError } from './connection.errors.js';
import { ConnectionReporter } from './connection-reporter.js';
import { offerGauges } from './connection-gauges.js';
import type { ConnectionStats } from './connection-stats.js';
import type { ResolvedConnectionOptions } from './connection.schema.js';
import { DirectServers } from './direct.js';
import type { ConnectionUser } from './eviction.js';
import { Gate } from './gate.js';
import { Inspection } from './inspection.js';
import { Listening } from './listening.js';
import type {
  ApplicationConnection,
  BlockingLease,
  ChannelKind,
  Operation,
  RedisClient,
  RedisConnection,
  Subscription,
  SubscriptionHandler,
  TrackingFeed,
  TrackingListener,
} from './redis-connection.js';
import { commandState, type RoleState } from './role-state.js';
import { sentinelWatch, type SentinelWatch } from './sentinel-watch.js';
import { awaitReady, plainTextWarning } from './startup.js';

/** One named connection: its sockets of all roles, its beginning and its end. */
export class ManagedConnection implements ApplicationConnection {
  readonly mode: RedisConnection['mode'];
  readonly commandTimeout: number;
  readonly maxBlocking: number;
  readonly readsReplicas: boolean;
  #opened = false;
  #closing: Promise<void> | undefined;
  readonly #handles: readonly ClientHandle[];
  readonly #reporter: ConnectionReporter;
  readonly #gate: Gate;
  readonly #blocking: BlockingPool;
  readonly #listening: Listening;
  readonly #inspection: Inspection;
  readonly #sentinels: SentinelWatch | undefined;
  readonly #socketPrefix: string;

  constructor(
    readonly name: string,
    namespace: string,
    private readonly options: ResolvedConnectionOptions,
    telemetry: Telemetry,
  ) {
    const { topology, commandTimeout, pool } = options;
    this.mode = topology.mode;
    this.commandTimeout = commandTimeout;
    this.maxBlocking = pool.maxBlocking;
    this.readsReplicas = topology.mode !== 'standalone' && topology.readFrom !== 'master';
    const socketPrefix = `${namespace}:${name}`;
    this.#socketPrefix = socketPrefix;
    const reporter = new ConnectionReporter(name, telemetry);
    this.#reporter = reporter;
    this.#inspection = new Inspection(name, options, reporter, () => this.masters());
    this.#handles = Array.from({ length: pool.size }, (_, n) => {
      const request = { options, role: 'command', socketName: `${socketPrefix}:command:${n + 1}` } as const;
      return new ClientHandle(request, {
        onState: (change) => {
          reporter.state('command', change);
          if (n === 0 && change.to === 'ready') this.#ready();
        },
        onBreaker: (state, node) => reporter.breaker(state, node),
      });
    });
    this.#gate = new Gate({ connection: name, commandTimeout, ...pool }, this.#handles, (error, attempts) =>
      reporter.failure(error, 'command', attempts),
    );
    this.#blocking = new BlockingPool({
      connection: name,
      options,
      socketPrefix,
      onState: (change) => reporter.state('blocking', change),
      onOverload: (error) => reporter.failure(error, 'blocking', 0),
    });
    this.#listening = new Listening({
      options,
      socketPrefix,
      client: this.client,
      onState: (role, change) => reporter.state(role, change),
      onRefused: (error) => reporter.error('ERR_REDIS_REFUSED', 'cannot listen', error),
      onGap: (kind, reason, ms) => reporter.gap(kind, reason, ms),
    });
    this.#sentinels = sentinelWatch(options, () => this.#leaveServer());
    offerGauges(telemetry, this);
  }

  /** Begins to connect; does not wait. The first call does it too. Idempotent. */
  open(): void {
    if (this.#opened || this.#closing !== undefined) return;
    this.#opened = true;
    for (const handle of this.#handles) handle.connect();
  }

  /** A pattern keeps keys here: what the boot check of the eviction policy has to know. */
  usedBy(user: ConnectionUser): void {
    this.#inspection.users.push(user);
  }

  /**
   * Waits for the server as `startup` says.
   *
   * @throws RedisConnectError when the boot must not go on
   */
  async settleBoot(): Promise<void> {
    this.open();
    const { startup, topology } = this.options;
    const [first] = this.#handles;
    const warning = plainTextWarning(this.options);
    if (warning !== undefined) this.#reporter.warning('ERR_REDIS_PLAIN_TEXT', warning);
    if (startup === 'background') {
      first!.onceReady(() => {
        this.#gate.booting = false;
        void this.#inspection.report();
      });
      return;
    }
    const trouble = await awaitReady(first!, this.name, this.options);
    this.#gate.booting = false;
    if (trouble === undefined) return this.#inspection.pass();
    const message = `not ready (${trouble}); check ${addressOptions(topology.mode)} and that Redis runs there`;
    if (startup === 'fail-fast') throw new RedisConnectError(this.name, message, first!.lastError);
    this.#reporter.warning(
      'ERR_REDIS_CONNECT',
      `is ${message}. The application starts without it, and goes on as soon as it answers.`,
    );
    first!.onceReady(() => void this.#inspection.report());
  }

  get client(): RedisClient {
    return this.#handles[0]!.client;
  }

  run<T, R = T>(operation: Operation<T, R>): Promise<R> {
    if (!this.#opened) this.open();
    return this.#gate.run(operation);
  }

  withBlocking<T>(fn: (lease: BlockingLease) => Promise<T>, { signal }: { signal?: AbortSignal } = {}): Promise<T> {
    return this.#blocking.use(fn, signal);
  }

  subscribe(kind: ChannelKind, name: string, handler: SubscriptionHandler): Subscription {
    this.#refuseWhenClosed();
    // In a Cluster that client knows which node has the slot of a sharded channel.
    if (kind === 'shard' && !this.#opened) this.open();
    return this.#listening.subscribe(kind, name, handler);
  }

  track(prefix: string, listener: TrackingListener): TrackingFeed {
    this.#refuseWhenClosed();
    if (!this.#opened) this.open();
    return this.#listening.track(prefix, listener);
  }

  masters(): readonly Redis[] {
    const { client } = this;
    return client instanceof Cluster ? client.nodes('master') : [client];
  }

  direct(role: string): DirectServers {
    this.#refuseWhenClosed();
    return new DirectServers(this.options, `${this.#socketPrefix}:${role}:0`);
  }

  stats(): ConnectionStats {
    const { version, role, maxmemoryPolicy } = this.#inspection.servers[0] ?? {};
    const openNodes = this.#handles
      .flatMap((handle) => [...handle.endpoints])
      .filter(({ breaker }) => breaker?.isOpen === true)
      .map(({ address }) => address);
    const state = openNodes.length > 0 ? 'open' : 'closed';
    return {
      mode: this.mode,
      status: this.#closing === undefined ? this.client.status : 'end',
      pool: {
        size: this.#handles.length,
        inFlight: this.#gate.inFlight,
        blocking: this.#blocking.size,
        waiting: this.#blocking.waiting + this.#gate.waiting.size,
      },
      breaker: { state: this.options.breaker === false ? 'off' : state, openNodes: [...new Set(openNodes)] },
      server: { version, role, maxmemoryPolicy },
    };
  }

  /** The sockets of each role that has any. */
  roles(): RoleState[] {
    if (this.#closing !== undefined) return [];
    const own = [commandState('command', this.#handles), commandState('blocking', this.#blocking.handles)];
    return [...own, ...this.#listening.roles()].filter(({ sockets }) => sockets > 0);
  }

  get purpose(): ResolvedConnectionOptions['purpose'] {
    return this.options.purpose;
  }

  /** Refuses new calls, lets those in flight end, and ends every socket, all within `closeTimeout`. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const deadline = Deadline.after(this.options.closeTimeout);
    this.#sentinels?.stop();
    await this.#gate.close(deadline.remaining());
    this.#blocking.close();
    this.#listening.close(this.#closedError());
    await Promise.all(this.#handles.map((handle) => handle.close(deadline.remaining())));
  }

  /** The clients hold passwords: whatever prints a service that stands on this connection sees its state alone. */
  [inspect.custom](): object {
    return { name: this.name, ...this.stats() };
  }

  /** The first client has a new socket, maybe to a new server. */
  #ready(): void {
    void this.#inspection.refresh();
    void this.#sentinels?.ready();
  }

  /** It is the master no more, only nobody has said so. */
  #leaveServer(): void {
    for (const handle of this.#handles) handle.reset();
    this.#blocking.reset();
    this.#listening.reset('the master changed');
  }

  #refuseWhenClosed(): void {
    if (this.#closing !== undefined) throw this.#closedError();
  }

  #closedError(): RedisUnavailableError {
    return new RedisUnavailableError('ERR_REDIS_CLOSED', 'the connection is closed', {
      outcome: 'not-sent',
      connection: this.name,
      operation: 'subscribe',
      elapsedMs: 0,
    });
  }
}

function addressOptions(mode: RedisConnection['mode']): string {
  if (mode === 'cluster') return "'nodes'";
  return mode === 'sentinel' ? "'sentinels' and 'name'" : "'url' (or 'host' and 'port')";
}
