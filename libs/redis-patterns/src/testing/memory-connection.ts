import type { Redis } from 'ioredis';
import { RedisUnavailableError } from '../connection/connection.errors.js';
import type { Endpoint, Readiness } from '../connection/endpoint.js';
import { Gate } from '../connection/gate.js';
import type {
  ApplicationConnection,
  BlockingLease,
  ChannelKind,
  ConnectionStats,
  DirectServers,
  Operation,
  RedisClient,
  ResolvedConnectionOptions,
  RoleState,
  Subscription,
  SubscriptionHandler,
  TrackingFeed,
  TrackingListener,
} from '../connection/index.js';
import { memoryClient } from './memory-client.js';
import type { MemoryRedis } from './redis/index.js';

const COMMAND_TIMEOUT = 500;
const MAX_BLOCKING = 100;

/** A connection to a Redis in memory, behind the same gate as a real one: outcomes, deadlines and refusals are the same. */
export class MemoryConnection implements ApplicationConnection {
  readonly mode = 'standalone';
  readonly commandTimeout = COMMAND_TIMEOUT;
  readonly maxBlocking = MAX_BLOCKING;
  readonly readsReplicas = false;
  readonly client: RedisClient;
  readonly #gate: Gate;
  readonly #end = new AbortController();
  readonly #endpoint: Endpoint & { readiness: Readiness };
  readonly #waiting = new Set<() => void>();
  readonly #handlers = new Set<SubscriptionHandler>();
  readonly #leases = new Set<AbortController>();
  #blocking = 0;

  constructor(
    readonly name: string,
    private readonly redis: MemoryRedis,
    readonly purpose: ResolvedConnectionOptions['purpose'] = 'any',
  ) {
    this.client = memoryClient(redis, this.#end.signal);
    this.#endpoint = {
      client: this.client,
      readiness: 'ready',
      breaker: undefined,
      inFlight: 0,
      bufferedBytes: 0,
      cork: () => undefined,
      misrouted: () => undefined,
    };
    const handle = {
      endpointFor: () => this.#endpoint,
      onceReady: (listener: () => void) => {
        if (this.#endpoint.readiness === 'ready') listener();
        else this.#waiting.add(listener);
        return () => this.#waiting.delete(listener);
      },
    };
    const limits = { commandTimeout: COMMAND_TIMEOUT, maxInFlight: 10_000, maxBufferedBytes: 1 };
    this.#gate = new Gate({ connection: name, ...limits }, [handle], () => undefined);
    this.#gate.booting = false;
  }

  /** Whether Redis answers. Down: every call fails as it does while a server is away, and reads that wait end. */
  set isUp(isUp: boolean) {
    if (isUp === (this.#endpoint.readiness === 'ready')) return;
    this.#endpoint.readiness = isUp ? 'ready' : 'not-ready';
    const loss = { reason: 'the connection was lost', moved: false, from: Date.now() };
    for (const handler of this.#handlers) {
      if (isUp) handler.gap(loss);
      else handler.lost?.(loss);
    }
    if (!isUp) {
      for (const lease of this.#leases) lease.abort();
      return;
    }
    for (const listener of this.#waiting) listener();
    this.#waiting.clear();
  }

  open(): void {}

  usedBy(): void {}

  async settleBoot(): Promise<void> {}

  run<T, R = T>(operation: Operation<T, R>): Promise<R> {
    return this.#gate.run(operation);
  }

  async withBlocking<T>(fn: (lease: BlockingLease) => Promise<T>): Promise<T> {
    if (this.#gate.closed) throw this.#closed();
    let current = new AbortController();
    const renew = (): void => {
      this.#leases.delete(current);
      current.abort();
      current = new AbortController();
      this.#leases.add(current);
    };
    renew();
    let epoch = 1;
    const lease: BlockingLease = {
      get client() {
        return clientOf(current.signal);
      },
      get epoch() {
        return epoch;
      },
      ready: (signal) => this.#ready(signal),
      reset: () => {
        epoch++;
        renew();
      },
    };
    const clientOf = (signal: AbortSignal): RedisClient => memoryClient(this.redis, signal);
    this.#blocking++;
    try {
      return await fn(lease);
    } finally {
      this.#blocking--;
      current.abort();
      this.#leases.delete(current);
    }
  }

  subscribe(kind: ChannelKind, name: string, handler: SubscriptionHandler): Subscription {
    if (this.#gate.closed) throw this.#closed();
    const stop = this.redis.subscribe(kind === 'pattern' ? kind : 'channel', name, (payload, channel) => {
      if (this.#endpoint.readiness === 'ready') handler.message(Buffer.from(payload), channel);
    });
    this.#handlers.add(handler);
    return {
      confirmed: (signal) => this.#ready(signal),
      close: () => {
        this.#handlers.delete(handler);
        stop();
      },
    };
  }

  /** Nothing is told: copies of this process are not used. */
  track(_prefix: string, _listener: TrackingListener): TrackingFeed {
    return { armed: false, close: () => undefined };
  }

  masters(): readonly Redis[] {
    return [this.client as Redis];
  }

  direct(): DirectServers {
    throw new Error(
      `Redis connection '${this.name}' is in memory: there is no server to look at; use startTestRedis()`,
    );
  }

  roles(): RoleState[] {
    return [{ role: 'command', sockets: 1, ready: this.#endpoint.readiness === 'ready' ? 1 : 0 }];
  }

  stats(): ConnectionStats {
    return {
      mode: this.mode,
      status: this.#gate.closed ? 'end' : this.#endpoint.readiness === 'ready' ? 'ready' : 'reconnecting',
      pool: { size: 1, inFlight: this.#gate.inFlight, blocking: this.#blocking, waiting: this.#gate.waiting.size },
      breaker: { state: 'off', openNodes: [] },
      server: { version: 'memory', role: 'master', maxmemoryPolicy: 'noeviction' },
    };
  }

  async close(): Promise<void> {
    await this.#gate.close(COMMAND_TIMEOUT);
    this.#end.abort();
    for (const lease of this.#leases) lease.abort();
  }

  #ready(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#gate.closed) return reject(this.#closed());
      if (this.#endpoint.readiness === 'ready') return resolve();
      this.#waiting.add(resolve);
      signal?.addEventListener('abort', () => {
        this.#waiting.delete(resolve);
        reject(signal.reason as Error);
      });
    });
  }

  #closed(): RedisUnavailableError {
    return new RedisUnavailableError('ERR_REDIS_CLOSED', 'the connection is closed', {
      outcome: 'not-sent',
      connection: this.name,
      operation: 'subscribe',
      elapsedMs: 0,
    });
  }
}
