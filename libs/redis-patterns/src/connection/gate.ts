import { Deadlines } from '../core/deadlines.js';
import { Call } from './call.js';
import type { ClientHandle } from './client-handle.js';
import type { RedisCommandError, RedisUnavailableError } from './connection.errors.js';
import type { Endpoint, Readiness } from './endpoint.js';
import type { Operation } from './redis-connection.js';

export interface GateOptions {
  readonly connection: string;
  readonly commandTimeout: number;
  readonly maxInFlight: number;
  readonly maxBufferedBytes: number;
}

/** A call that ended with a failure, for telemetry; `attempts`: how often it was sent. */
export type FailureListener = (error: RedisUnavailableError | RedisCommandError, attempts: number) => void;

/** A call that has nothing under way: all that the end of the connection has to know of it. */
export interface WaitingCall {
  close(): void;
}

/**
 * The gate that every operation passes: it knows which socket can be sent to and how much is under way. What becomes of
 * one operation is the business of its {@link Call}.
 */
export class Gate {
  /** Calls whose command is in the hands of a client, also those that were given up and still owe a reply. */
  inFlight = 0;
  /** Calls that wait for a connection, or for a repetition. */
  readonly waiting = new Set<WaitingCall>();
  readonly deadlines = new Deadlines({ keepAlive: true });
  closed = false;
  /** Until the boot is over every call waits for the connection, inside its deadline, as if it had asked to. */
  booting = true;
  readonly #idleWaiters = new Set<() => void>();

  constructor(
    readonly options: GateOptions,
    private readonly handles: readonly Pick<ClientHandle, 'endpointFor' | 'onceReady'>[],
    readonly onFailure: FailureListener,
  ) {}

  run<T, R = T>(operation: Operation<T, R>): Promise<R> {
    return new Promise((resolve, reject) => new Call(this, operation, resolve, reject).start());
  }

  /** Of the sockets that a command for this key can be sent to the one with the least under way; else why there is none. */
  pick(key: string | undefined): Endpoint | Exclude<Readiness, 'ready'> {
    let best: Endpoint | undefined;
    let reason: Exclude<Readiness, 'ready'> = 'not-ready';
    for (const handle of this.handles) {
      const endpoint = handle.endpointFor(key);
      if (endpoint === undefined) continue;
      const { readiness } = endpoint;
      if (readiness === 'breaker-open') reason = readiness;
      if (readiness === 'ready' && endpoint.inFlight < (best?.inFlight ?? Infinity)) best = endpoint;
    }
    return best ?? reason;
  }

  /** Whether there is room for one more call. */
  hasRoom(): boolean {
    return this.inFlight + this.waiting.size < this.options.maxInFlight;
  }

  /** Calls `listener` when a command for this key can be sent; gives the function that cancels this. */
  onceReady(key: string | undefined, listener: () => void): () => void {
    const cancels = this.handles.map((handle) =>
      handle.onceReady(listener, () => handle.endpointFor(key)?.readiness === 'ready'),
    );
    return () => cancels.forEach((cancel) => cancel());
  }

  entered(endpoint: Endpoint): void {
    this.inFlight++;
    endpoint.inFlight++;
  }

  left(endpoint: Endpoint): void {
    endpoint.inFlight--;
    // Emptying a set that is empty makes a new table all the same.
    if (--this.inFlight > 0 || this.#idleWaiters.size === 0) return;
    for (const waiter of this.#idleWaiters) waiter();
    this.#idleWaiters.clear();
  }

  /** Refuses new calls and those that wait, and resolves when none is in flight any more, at the latest after `ms`. */
  async close(ms: number): Promise<void> {
    this.closed = true;
    for (const call of this.waiting) call.close();
    if (this.inFlight > 0) await this.#idle(ms);
    this.deadlines.release();
  }

  #idle(ms: number): Promise<void> {
    return new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#idleWaiters.add(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
