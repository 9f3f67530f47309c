import { onAbort } from '../core/abort.js';
import { ClientHandle, type StateChange } from './client-handle.js';
import { RedisUnavailableError } from './connection.errors.js';
import type { ResolvedConnectionOptions } from './connection.schema.js';
import type { BlockingLease } from './redis-connection.js';

export interface BlockingPoolOptions {
  readonly connection: string;
  readonly options: ResolvedConnectionOptions;
  readonly socketPrefix: string;
  readonly onState: (change: StateChange) => void;
  /** Nobody gave a socket back in time. */
  readonly onOverload: (error: RedisUnavailableError) => void;
}

interface Waiter {
  readonly grant: () => void;
  readonly refuse: (error: Error) => void;
}

/** Lends sockets for blocking commands, a fresh one for each lease, never more than `pool.maxBlocking`. */
export class BlockingPool {
  #serial = 0;
  #closed = false;
  /** Places taken, from before a socket exists until after it is gone. */
  #taken = 0;
  readonly #leases = new Set<ClientHandle>();
  readonly #waiters = new Set<Waiter>();

  constructor(private readonly setup: BlockingPoolOptions) {}

  get size(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  get handles(): readonly ClientHandle[] {
    return [...this.#leases];
  }

  async use<T>(fn: (lease: BlockingLease) => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#takePlace(signal);
    let handle: ClientHandle | undefined;
    try {
      handle = this.#connect();
      return await fn(toLease(handle));
    } finally {
      if (handle !== undefined) {
        // QUIT would wait behind the blocking read.
        handle.destroy();
        this.#leases.delete(handle);
      }
      this.#passPlaceOn();
    }
  }

  /** The sockets may be at the wrong server: each takes a new one, and what waits on it rejects. */
  reset(): void {
    for (const handle of this.#leases) handle.reset();
  }

  /** Refuses new leases and destroys the sockets of those that live: what they wait for rejects. */
  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiters) waiter.refuse(this.#error('ERR_REDIS_CLOSED', 'the connection is closed'));
    this.#waiters.clear();
    for (const handle of this.#leases) handle.destroy();
  }

  #connect(): ClientHandle {
    const { options, socketPrefix, onState } = this.setup;
    const request = { options, role: 'blocking', socketName: `${socketPrefix}:blocking:${++this.#serial}` } as const;
    const handle = new ClientHandle(request, { onState });
    this.#leases.add(handle);
    handle.connect();
    return handle;
  }

  async #takePlace(signal: AbortSignal | undefined): Promise<void> {
    const { maxBlocking, acquireTimeout } = this.setup.options.pool;
    if (this.#closed) throw this.#error('ERR_REDIS_CLOSED', 'the connection is closed');
    signal?.throwIfAborted();
    if (this.#taken < maxBlocking) {
      this.#taken++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const settle = (action: () => void) => () => {
        clearTimeout(timer);
        stopListening();
        this.#waiters.delete(waiter);
        action();
      };
      const waiter: Waiter = { grant: settle(resolve), refuse: (error) => settle(() => reject(error))() };
      const text = `all ${maxBlocking} blocking sockets are in use (pool.maxBlocking)`;
      const timer = setTimeout(() => {
        const error = this.#error('ERR_REDIS_OVERLOADED', text);
        this.setup.onOverload(error);
        waiter.refuse(error);
      }, acquireTimeout);
      const stopListening = onAbort(signal, (reason) => waiter.refuse(reason as Error));
      this.#waiters.add(waiter);
    });
  }

  /** The place goes straight to the first waiter: nobody can slip in between. */
  #passPlaceOn(): void {
    const [first] = this.#waiters;
    if (first === undefined) this.#taken--;
    else first.grant();
  }

  #error(code: 'ERR_REDIS_CLOSED' | 'ERR_REDIS_OVERLOADED', message: string): RedisUnavailableError {
    const { connection } = this.setup;
    return new RedisUnavailableError(code, message, {
      outcome: 'not-sent',
      connection,
      operation: 'blocking',
      elapsedMs: 0,
    });
  }
}

function toLease(handle: ClientHandle): BlockingLease {
  return {
    client: handle.client,
    get epoch() {
      return handle.epoch;
    },
    ready: (signal, key) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason as Error);
        const stopListening = onAbort(signal, (reason) => {
          cancel();
          reject(reason as Error);
        });
        const isMet = () => (key === undefined ? handle.isReady : handle.endpointFor(key)?.readiness === 'ready');
        const cancel = handle.onceReady(() => {
          stopListening();
          resolve();
        }, isMet);
      }),
    reset: () => handle.reset(),
  };
}
