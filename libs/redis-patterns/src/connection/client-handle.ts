import { Cluster, type Redis } from 'ioredis';
import { safeCause } from './classify.js';
import { createClient, reconnectDelay, type ClientRequest } from './client-factory.js';
import { ClusterNodes } from './cluster-nodes.js';
import type { RedisClient } from './redis-connection.js';

export interface StateChange {
  readonly from: string;
  readonly to: string;
  readonly reason?: string;
}

interface ReadyWaiter {
  readonly isMet: () => boolean;
  readonly listener: () => void;
}

/** Time for a polite QUIT before the socket is destroyed, milliseconds. */
const QUIT_TIMEOUT = 500;

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
  readonly #nodes: ClusterNodes | undefined;
  readonly #readyWaiters = new Set<ReadyWaiter>();
  readonly #errorWatchers = new Set<(error: Error) => void>();

  constructor(
    private readonly request: ClientRequest,
    private readonly onState: (change: StateChange) => void,
  ) {
    this.client = createClient(request);
    if (this.client instanceof Cluster) {
      this.#nodes = new ClusterNodes(
        this.client,
        (node) => this.#givePassword(node),
        (what) => this.#nodesChanged(what),
      );
    }
    this.#listen();
  }

  /** Whether it is connected, in a Cluster to all nodes that there are. */
  get isReady(): boolean {
    return this.client.status === 'ready' && (this.#nodes?.settled ?? true);
  }

  /** Whether a command for this key can be sent now; without a key, whether any command can. */
  isReadyFor(key: string | undefined): boolean {
    if (this.client.status !== 'ready') return false;
    return key === undefined || this.#nodes === undefined || this.#nodes.isReadyFor(key);
  }

  /** Begins to connect, and goes on by itself after a failure. */
  connect(): void {
    void this.#connect();
  }

  async #connect(): Promise<void> {
    for (let attempt = 1; !(await this.#refreshPassword()); attempt++) {
      await new Promise((resolve) => setTimeout(resolve, reconnectDelay(attempt)).unref());
    }
    if (this.#closed) return;
    // The promise rejects at the first failed attempt although the client goes on; the `error` event has the cause.
    this.client.connect().catch(() => undefined);
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

  /** Ends the client; idempotent, never rejects, takes at most 500 ms. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.isReady) await quitWithin(this.client, QUIT_TIMEOUT);
    this.client.disconnect();
  }

  /** Destroys the socket now, for connections whose QUIT would wait behind a blocking read. */
  destroy(): void {
    this.#closed = true;
    this.client.disconnect();
  }

  #listen(): void {
    const { client } = this;
    client.on('ready', () => {
      this.epoch++;
      this.lastError = undefined;
      this.#changed('ready');
      this.#wakeReadyWaiters();
    });
    client.on('close', () => {
      this.#changed('close');
      void this.#refreshPassword();
    });
    client.on('reconnecting', () => this.#changed('reconnecting'));
    client.on('end', () => this.#changed('end'));
    client.on('error', (error: unknown) => this.#failed(error));
    if (client instanceof Cluster) {
      client.on('node error', (error: unknown) => this.#failed(error));
      client.on('-node', () => this.#wakeReadyWaiters());
    }
  }

  #nodesChanged(what: 'node' | 'slots'): void {
    if (what === 'node') this.epoch++;
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
    this.onState({ from, to, ...(reason === undefined ? {} : { reason }) });
  }

  #failed(error: unknown): void {
    this.lastError = safeCause(rootOf(error));
    for (const watcher of this.#errorWatchers) watcher(this.lastError);
  }

  /**
   * A password function is asked again before each reconnection, so that a rotation needs no restart.
   *
   * @returns whether there is an answer (or nothing to ask)
   */
  async #refreshPassword(): Promise<boolean> {
    const source = this.request.options.password;
    if (typeof source !== 'function' || this.#closed) return true;
    try {
      const password = await source();
      if (this.client instanceof Cluster) {
        this.client.options.redisOptions = { ...this.client.options.redisOptions, password };
      } else {
        this.client.options.password = password;
      }
      return true;
    } catch {
      // What a secret store says in its error may hold the secret's name or more: it is not passed on.
      this.#failed(new Error("the function given as 'password' failed"));
      return false;
    }
  }

  #givePassword(node: Redis): void {
    const password = (this.client as Cluster).options.redisOptions?.password;
    if (password !== undefined) node.options.password = password;
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
