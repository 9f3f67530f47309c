import { Cluster, type Redis } from 'ioredis';
import { sleep } from '../core/abort.js';
import { safeCause } from './classify.js';
import { createClient, reconnectDelay, silenceLimit, type ClientRequest } from './client-factory.js';
import { ClusterNodes } from './cluster-nodes.js';
import { CurrentPassword } from './current-password.js';
import { SocketEndpoint, type BreakerListener, type Endpoint } from './endpoint.js';
import type { RedisClient } from './redis-connection.js';
import { Refusals } from './refusals.js';
import { SilenceWatch } from './silence-watch.js';

export interface StateChange {
  readonly from: string;
  readonly to: string;
  readonly reason?: string;
}

export interface HandleListeners {
  readonly onState: (change: StateChange) => void;
  readonly onBreaker?: BreakerListener;
}

interface ReadyWaiter {
  readonly isMet: () => boolean;
  readonly listener: () => void;
}

/** Longest time that a polite QUIT may take before the socket is destroyed, milliseconds. */
const QUIT_TIMEOUT = 500;
const SELECT_REFUSED = /DB index is out of range|^NOPERM.*'select'/;
const REFUSED = /^(WRONGPASS|NOAUTH|NOPERM)|invalid (?:username-)?password|DB index is out of range/i;

/**
 * Owns one ioredis client: connects it, watches its state, knows its last error (which ioredis only gives to listeners),
 * keeps its password current, and ends it in bounded time.
 */
export class ClientHandle {
  readonly client: RedisClient;
  /** How often a socket of this client became ready. */
  epoch = 0;
  lastError: Error | undefined;
  #state = 'wait';
  #closed = false;
  readonly #refusals = new Refusals();
  readonly #password: CurrentPassword;
  #retry: NodeJS.Timeout | undefined;
  readonly #socket: SocketEndpoint | undefined;
  readonly #nodes: ClusterNodes | undefined;
  readonly #readyWaiters = new Set<ReadyWaiter>();
  readonly #errorWatchers = new Set<(error: Error) => void>();

  constructor(
    private readonly request: ClientRequest,
    private readonly listeners: HandleListeners,
  ) {
    this.#password = new CurrentPassword(request.options.password, (error) => this.#note(error));
    const client = createClient(request, (attempt) => this.#refusals.pause || reconnectDelay(attempt));
    this.client = client;
    if (client instanceof Cluster) {
      const adopt = (node: Redis): SocketEndpoint => {
        this.#givePassword(node);
        return this.#endpoint(node);
      };
      this.#nodes = new ClusterNodes(client, adopt, (what) => this.#nodesChanged(what), this.#refusals);
    } else {
      this.#socket = this.#endpoint(client);
    }
    this.#listen();
  }

  /** Whether it is connected, in a Cluster to all nodes that there are. */
  get isReady(): boolean {
    return this.client.status === 'ready' && (this.#nodes?.settled ?? !this.#socket!.unusable);
  }

  /** Whether the password function owes an answer. */
  get awaitsPassword(): boolean {
    return this.#password.awaited;
  }

  /** Where a command for this key goes; `undefined` when that is not known now. */
  endpointFor(key: string | undefined): Endpoint | undefined {
    return this.#socket ?? this.#nodes!.endpointFor(key);
  }

  /** Every socket that commands are written to. */
  get endpoints(): Iterable<SocketEndpoint> {
    return this.#socket === undefined ? this.#nodes!.endpoints : [this.#socket];
  }

  /** Begins to connect, and goes on by itself after a failure. */
  connect(): void {
    void this.#connect();
  }

  async #connect(): Promise<void> {
    for (let attempt = 1; !(await this.#refreshPassword()); attempt++) {
      await sleep(reconnectDelay(attempt));
    }
    if (this.#closed) return;
    // The promise rejects at the first failed attempt although the client goes on; the `error` event has the cause.
    this.client.connect().catch(() => undefined);
  }

  /** ioredis gives up for good when a failover is told while it asks the Sentinels for the address. */
  #connectAgain(): void {
    if (this.#closed) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.connect(), reconnectDelay(1));
  }

  /** Calls `listener` once, as soon as the condition is met, by default {@link isReady}; gives the function that cancels this. */
  onceReady(listener: () => void, isMet: () => boolean = () => this.isReady): () => void {
    if (isMet()) {
      listener();
      return () => undefined;
    }
    const waiter = { isMet, listener };
    this.#readyWaiters.add(waiter);
    return () => this.#readyWaiters.delete(waiter);
  }

  /** Calls `listener` for each connection error until the returned function is called. */
  watchErrors(listener: (error: Error) => void): () => void {
    this.#errorWatchers.add(listener);
    return () => this.#errorWatchers.delete(listener);
  }

  /** Drops the socket, rejects what waits on it, and connects anew. */
  reset(): void {
    if (!this.#closed) this.client.disconnect(true);
  }

  /** Ends the client; idempotent, never rejects, takes `ms` at most. */
  async close(ms = QUIT_TIMEOUT): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#nodes?.close();
    if (this.isReady) await quitWithin(this.client, Math.min(ms, QUIT_TIMEOUT));
    this.destroy();
  }

  /** Destroys the socket now, for connections whose QUIT would wait behind a blocking read. */
  destroy(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    this.#nodes?.close();
    this.client.disconnect();
    for (const { breaker } of this.endpoints) breaker?.dispose();
  }

  #endpoint(socket: Redis): SocketEndpoint {
    const { role, options } = this.request;
    const limits = role === 'command' ? options.breaker : false;
    new SilenceWatch(socket, silenceLimit(role, options));
    return new SocketEndpoint(this.client, socket, limits, {
      breaker: (state, node) => {
        if (this.#closed) return;
        this.listeners.onBreaker?.(state, node);
        this.#wakeReadyWaiters();
      },
      misrouted: () => this.#nodes?.refreshSoon(),
    });
  }

  #listen(): void {
    const { client } = this;
    client.on('ready', () => {
      if (this.#socket?.unusable === true) return;
      this.epoch++;
      this.lastError = undefined;
      this.#refusals.forget();
      this.#changed('ready');
      this.#wakeReadyWaiters();
    });
    client.on('close', () => {
      if (this.#socket !== undefined) this.#socket.unusable = false;
      this.#changed('close');
      if (this.request.node !== undefined) Object.assign((client as Redis).options, this.request.node());
      void this.#refreshPassword();
    });
    client.on('reconnecting', () => this.#changed('reconnecting'));
    client.on('end', () => {
      this.#changed('end');
      this.#connectAgain();
    });
    client.on('error', (error: unknown) => this.#failed(error));
    if (client instanceof Cluster) client.on('node error', (error: unknown) => this.#failed(error));
  }

  #nodesChanged(what: 'ready' | 'lost' | 'slots'): void {
    if (what === 'ready') {
      this.epoch++;
      this.#refusals.forget();
    }
    if (what === 'lost') void this.#refreshPassword();
    this.#wakeReadyWaiters();
  }

  #wakeReadyWaiters(): void {
    // A listener may wait anew at once: that one is for the next time.
    for (const waiter of Array.from(this.#readyWaiters)) {
      if (!waiter.isMet()) continue;
      this.#readyWaiters.delete(waiter);
      waiter.listener();
    }
  }

  #changed(to: string): void {
    const from = this.#state;
    if (from === to) return;
    this.#state = to;
    // An end that was asked for is no event.
    if (this.#closed) return;
    const reason = to === 'ready' ? undefined : this.lastError?.message;
    this.listeners.onState({ from, to, ...(reason === undefined ? {} : { reason }) });
  }

  #failed(error: unknown): void {
    this.#note(safeCause(rootOf(error)));
  }

  #note(cause: Error): void {
    // That a connection is closed is no news, and hides the reason.
    if (cause.message !== 'Connection is closed.') this.lastError = cause;
    else this.lastError ??= cause;
    if (REFUSED.test(cause.message) && this.#refusals.note() && this.#nodes !== undefined) {
      // The nodes that are left keep the Cluster client up, and no socket closes while they refuse to tell it the slots.
      void this.#refreshPassword();
    }
    if (SELECT_REFUSED.test(cause.message)) this.#leaveWrongDatabase();
    for (const watcher of this.#errorWatchers) watcher(cause);
  }

  /** ioredis would go on in database 0, and nobody would know. */
  #leaveWrongDatabase(): void {
    if (this.#socket === undefined) return;
    this.#socket.unusable = true;
    this.reset();
  }

  /** @returns whether there is an answer (or nothing to ask) */
  async #refreshPassword(): Promise<boolean> {
    if (this.#closed) return true;
    const answered = await this.#password.refresh();
    if (this.client instanceof Cluster && this.#password.value !== undefined) {
      this.client.options.redisOptions = { ...this.client.options.redisOptions, password: this.#password.value };
    }
    for (const { redis } of this.endpoints) this.#givePassword(redis);
    return answered;
  }

  #givePassword(socket: Redis): void {
    if (this.#password.value !== undefined) socket.options.password = this.#password.value;
  }
}

/** ioredis wraps what a Cluster node said ("Failed to refresh slots cache."). */
function rootOf(error: unknown): unknown {
  const inner = (error as { lastNodeError?: unknown } | null)?.lastNodeError;
  return inner ?? error;
}

async function quitWithin(client: RedisClient, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([client.quit().catch(() => undefined), timeout]);
  clearTimeout(timer);
}
