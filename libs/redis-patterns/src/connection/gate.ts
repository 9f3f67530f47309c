import { classify, safeCause, type Failure } from './classify.js';
import {
  RedisCommandError,
  RedisUnavailableError,
  type FailureDetails,
  type FailureOutcome,
  type UnavailableCode,
} from './connection.errors.js';
import type { ClientHandle } from './client-handle.js';
import type { Operation } from './redis-connection.js';

export interface GateOptions {
  readonly connection: string;
  readonly commandTimeout: number;
  readonly maxInFlight: number;
  readonly maxBufferedBytes: number;
}

/** A call that ended with a failure, for telemetry. */
export type FailureListener = (operation: string, error: RedisUnavailableError | RedisCommandError) => void;

/**
 * The gate that every operation passes: it owns the deadline, decides what may be repeated, and says what is known about
 * an operation that failed.
 */
export class Gate {
  /** Calls whose command is in the hands of a client, also those that were given up and still owe a reply. */
  inFlight = 0;
  /** Calls that wait for a connection, or for a repetition. */
  waiting = 0;
  closed = false;
  /** Until the boot is over every call waits for the connection, inside its deadline, as if it had asked to. */
  booting = true;
  readonly #idleWaiters = new Set<() => void>();

  constructor(
    readonly options: GateOptions,
    private readonly handles: readonly ClientHandle[],
    readonly onFailure: FailureListener,
  ) {}

  run<T>(operation: Operation<T>): Promise<T> {
    return new Promise((resolve, reject) => new Call(this, operation, resolve, reject).start());
  }

  /** A client that can be sent to, in turn; `undefined` when there is none. */
  pick(key: string | undefined): ClientHandle | undefined {
    const { handles } = this;
    for (let i = 0; i < handles.length; i++) {
      const handle = handles[(this.inFlight + i) % handles.length]!;
      if (handle.isReadyFor(key)) return handle;
    }
    return undefined;
  }

  isOverloaded(handle: ClientHandle | undefined): boolean {
    if (this.inFlight + this.waiting >= this.options.maxInFlight) return true;
    const stream = (handle?.client as { stream?: { writableLength?: number } } | undefined)?.stream;
    return (stream?.writableLength ?? 0) > this.options.maxBufferedBytes;
  }

  /** Calls `listener` when a client can be sent to; gives the function that cancels this. */
  onceReady(key: string | undefined, listener: () => void): () => void {
    const cancels = this.handles.map((handle) => handle.onceReady(listener, () => handle.isReadyFor(key)));
    return () => cancels.forEach((cancel) => cancel());
  }

  left(): void {
    if (--this.inFlight > 0) return;
    for (const waiter of this.#idleWaiters) waiter();
    this.#idleWaiters.clear();
  }

  /** Refuses new calls and resolves when none is in flight any more, at the latest after `ms`. */
  async close(ms: number): Promise<void> {
    this.closed = true;
    if (this.inFlight === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#idleWaiters.add(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

/** Where a call stands: what its promise will be told if it is given up now. */
type Stage = 'idle' | 'waiting' | 'sent' | 'settled';

const FIRST_RETRY_DELAY = 10;

class Call<T> {
  private stage: Stage = 'idle';
  private readonly startedAt = performance.now();
  private timer: NodeJS.Timeout | undefined;
  private retryTimer: NodeJS.Timeout | undefined;
  private cancelReady: (() => void) | undefined;
  private attempts = 0;
  /** Set after a first attempt whose effect is not known: from then on no failure may claim that nothing happened. */
  private maybeApplied = false;
  private lastFailure: { failure: Failure; cause: Error } | undefined;

  constructor(
    private readonly gate: Gate,
    private readonly operation: Operation<T>,
    private readonly resolve: (value: T) => void,
    private readonly reject: (error: Error) => void,
  ) {}

  start(): void {
    const { gate, operation } = this;
    if (gate.closed) return this.unavailable('ERR_REDIS_CLOSED', 'not-sent', 'the connection is closed');
    if (operation.signal?.aborted) return this.onAbort();
    this.timer = setTimeout(this.onDeadline, operation.deadline ?? gate.options.commandTimeout);
    operation.signal?.addEventListener('abort', this.onAbort, { once: true });
    this.attempt();
  }

  private readonly attempt = (): void => {
    const { gate, operation } = this;
    const handle = gate.pick(operation.key);
    if (gate.isOverloaded(handle)) {
      const { maxInFlight, maxBufferedBytes } = gate.options;
      return this.unavailable(
        'ERR_REDIS_OVERLOADED',
        'not-sent',
        `more than ${maxInFlight} calls in flight (pool.maxInFlight) or ${maxBufferedBytes} bytes waiting (pool.maxBufferedBytes)`,
      );
    }
    if (handle === undefined) return this.waitForReady();
    this.attempts++;
    this.stage = 'sent';
    gate.inFlight++;
    let reply: Promise<T>;
    try {
      reply = operation.send(handle.client);
    } catch (error) {
      reply = Promise.reject(error as Error);
    }
    reply.then(this.onReply, this.onError);
  };

  private waitForReady(): void {
    if (this.operation.wait !== true && !this.gate.booting) {
      return this.unavailable('ERR_REDIS_NOT_READY', 'not-sent', 'the connection is not ready');
    }
    this.pause();
    this.cancelReady = this.gate.onceReady(this.operation.key, () => this.resume());
  }

  private readonly onReply = (reply: T): void => {
    this.gate.left();
    if (this.stage === 'settled') return this.operation.onLate?.(reply);
    this.settle();
    this.resolve(reply);
  };

  private readonly onError = (error: unknown): void => {
    this.gate.left();
    if (this.stage === 'settled') return;
    const failure = classify(error);
    this.lastFailure = { failure, cause: safeCause(error) };
    if (this.mayRepeat(failure)) return this.repeatLater();
    if (failure.code === undefined)
      return this.fail(new RedisCommandError(failure.text, this.details(failure.outcome)));
    this.unavailable(failure.code, failure.outcome, failure.text);
  };

  private mayRepeat(failure: Failure): boolean {
    if (this.gate.closed) return false;
    if (failure.outcome === 'not-sent') return this.operation.wait === true || this.gate.booting;
    if (failure.outcome === 'refused') return failure.passing;
    // Unknown: once, and only what can find (or does not mind) its own first run. A half-done script is never repeated.
    if (failure.code === undefined || this.operation.effect === 'once' || this.maybeApplied) return false;
    this.maybeApplied = true;
    return true;
  }

  private repeatLater(): void {
    this.pause();
    const delay = FIRST_RETRY_DELAY * 2 ** Math.min(this.attempts - 1, 6) * (0.5 + Math.random() / 2);
    this.retryTimer = setTimeout(() => this.resume(), delay);
  }

  private pause(): void {
    this.stage = 'waiting';
    this.gate.waiting++;
  }

  private resume(): void {
    if (this.stage !== 'waiting') return;
    this.stage = 'idle';
    this.gate.waiting--;
    clearTimeout(this.retryTimer);
    this.cancelReady?.();
    this.cancelReady = undefined;
    this.attempt();
  }

  /** A reply that is already in the socket wins: a stalled event loop is not a failing Redis. */
  private readonly onDeadline = (): void => {
    setImmediate(() => setImmediate(() => this.giveUp('ERR_REDIS_DEADLINE', 'no answer by the deadline')));
  };

  private readonly onAbort = (): void => {
    this.giveUp('ERR_REDIS_ABORTED', 'the caller aborted', this.operation.signal?.reason);
  };

  private giveUp(code: UnavailableCode, text: string, reason?: unknown): void {
    if (this.stage === 'settled') return;
    const last = this.lastFailure?.failure;
    const outcome = this.stage === 'sent' ? 'unknown' : (last?.outcome ?? 'not-sent');
    this.unavailable(code, outcome, last === undefined ? text : `${text}; before: ${last.text}`, reason);
  }

  private unavailable(code: UnavailableCode, outcome: FailureOutcome, text: string, cause?: unknown): void {
    this.fail(new RedisUnavailableError(code, text, this.details(outcome, cause)));
  }

  private details(outcome: FailureOutcome, cause?: unknown): FailureDetails {
    const reply = this.lastFailure?.failure.reply;
    return {
      outcome: this.maybeApplied ? 'unknown' : outcome,
      connection: this.gate.options.connection,
      operation: this.operation.name,
      ...(reply === undefined ? {} : { reply }),
      elapsedMs: Math.round(performance.now() - this.startedAt),
      cause: cause ?? this.lastFailure?.cause,
    };
  }

  private fail(error: RedisUnavailableError | RedisCommandError): void {
    this.settle();
    this.gate.onFailure(this.operation.name, error);
    // A caller that tries again at once would else keep the event loop from ever hearing that Redis is back.
    if (error.outcome === 'not-sent') setImmediate(this.reject, error);
    else this.reject(error);
  }

  private settle(): void {
    if (this.stage === 'waiting') this.gate.waiting--;
    this.stage = 'settled';
    clearTimeout(this.timer);
    clearTimeout(this.retryTimer);
    this.cancelReady?.();
    this.operation.signal?.removeEventListener('abort', this.onAbort);
  }
}
