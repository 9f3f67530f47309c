import { onAbort } from '../core/abort.js';
import type { Expiring, Lane } from '../core/deadlines.js';
import { classify, safeCause, type Failure } from './classify.js';
import {
  RedisCommandError,
  RedisUnavailableError,
  type FailureDetails,
  type FailureOutcome,
  type UnavailableCode,
} from './connection.errors.js';
import type { Endpoint, Readiness } from './endpoint.js';
import type { Gate, WaitingCall } from './gate.js';
import type { Operation } from './redis-connection.js';

/** Where a call stands: what its promise will be told if it is given up now. */
type Stage = 'idle' | 'waiting' | 'sent' | 'settled';

const FIRST_RETRY_DELAY = 10;
/** A deadline that is seen so late was missed by this process, milliseconds. */
const LATE = 10;
/** What a reply is given then, milliseconds. */
const GRACE = 20;

const UNSENT = {
  'not-ready': { code: 'ERR_REDIS_NOT_READY', text: 'the connection is not ready' },
  'breaker-open': { code: 'ERR_REDIS_BREAKER_OPEN', text: 'the server has not answered lately' },
} as const satisfies Record<Exclude<Readiness, 'ready'>, { code: UnavailableCode; text: string }>;

/**
 * One operation on its way through the gate, from the call to the moment that its promise settles, and on to the late
 * reply if there is one. It is on every hot path: no closure, timer or listener more than it needs.
 */
export class Call<T, R> implements WaitingCall, Expiring {
  private stage: Stage = 'idle';
  readonly startedAt = performance.now();
  before: Expiring | undefined;
  behind: Expiring | undefined;
  private lane: Lane | undefined;
  /** After the deadline. */
  private timer: NodeJS.Timeout | undefined;
  private retryTimer: NodeJS.Timeout | undefined;
  private cancelReady: (() => void) | undefined;
  private stopListening: (() => void) | undefined;
  private attempts = 0;
  /** Of the last attempt; `undefined`: of the first, which begins with the call. */
  private sentAt: number | undefined;
  private counted = false;
  private endpoint: Endpoint | undefined;
  /** Set after a first attempt whose effect is not known: from then on no failure may claim that nothing happened. */
  private maybeApplied = false;
  private lastFailure: { failure: Failure; cause: Error } | undefined;
  private eventLoopDelay = 0;

  constructor(
    private readonly gate: Gate,
    private readonly operation: Operation<T, R>,
    private readonly resolve: (value: R | Promise<R>) => void,
    private readonly reject: (error: Error) => void,
  ) {}

  start(): void {
    const { gate, operation } = this;
    if (gate.closed) return this.close();
    const { signal } = operation;
    if (signal !== undefined) {
      this.stopListening = onAbort(signal, (reason) => this.giveUp('ERR_REDIS_ABORTED', 'the caller aborted', reason));
      if (signal.aborted) return;
    }
    this.lane = gate.deadlines.add(this, this.deadline);
    this.attempt();
  }

  /** A reply that is on its way wins: a stalled event loop is not a failing Redis. */
  expire(): void {
    this.eventLoopDelay = Math.max(0, Math.round(performance.now() - this.startedAt - this.deadline));
    const giveUp = () => this.giveUp('ERR_REDIS_DEADLINE', 'no answer by the deadline');
    // Replies may be in the socket; after a stall even the commands may have been written only just now.
    if (this.eventLoopDelay < LATE) setImmediate(() => setImmediate(giveUp));
    else this.timer = setTimeout(giveUp, GRACE);
  }

  /** The connection ends before this call was sent. */
  close(): void {
    this.giveUp('ERR_REDIS_CLOSED', 'the connection is closed');
  }

  private get deadline(): number {
    return this.operation.deadline ?? this.gate.options.commandTimeout;
  }

  private attempt(): void {
    const { gate, operation } = this;
    if (!gate.hasRoom()) return this.overloaded(`more than ${gate.options.maxInFlight} calls (pool.maxInFlight)`);
    const endpoint = gate.pick(operation.key);
    if (typeof endpoint === 'string') return this.waitFor(endpoint);
    if (endpoint.bufferedBytes > gate.options.maxBufferedBytes) {
      return this.overloaded(`more than ${gate.options.maxBufferedBytes} bytes waiting (pool.maxBufferedBytes)`);
    }
    this.attempts++;
    this.stage = 'sent';
    this.counted = false;
    this.endpoint = endpoint;
    gate.entered(endpoint);
    // Alone there is nothing to wait for.
    if (endpoint.inFlight > 1) endpoint.cork();
    let reply: Promise<T>;
    try {
      reply = operation.send(endpoint.client);
    } catch (error) {
      reply = Promise.reject(error as Error);
    }
    reply.then(
      (value) => this.onReply(value),
      (error: unknown) => this.onError(error),
    );
  }

  private waitFor(reason: Exclude<Readiness, 'ready'>): void {
    const { code, text } = UNSENT[reason];
    // On its way to its repetition, after a refusal that passes or a lost reply, it does not fail at the last step.
    const passes = this.lastFailure?.failure.passing === true;
    if (!this.mayWait && !passes) return this.unavailable(code, 'not-sent', text);
    this.pause();
    this.cancelReady = this.gate.onceReady(this.operation.key, () => this.resume());
  }

  private onReply(reply: T): void {
    this.gate.left(this.endpoint!);
    this.tellBreaker(true);
    if (this.stage === 'settled') return this.operation.onLate?.(reply);
    this.settle();
    const { operation } = this;
    if (operation.onReply === undefined) return this.resolve(reply as unknown as R);
    try {
      this.resolve(operation.onReply(reply));
    } catch (error) {
      this.reject(error as Error);
    }
  }

  private onError(error: unknown): void {
    this.gate.left(this.endpoint!);
    const failure = classify(error);
    if (failure.outcome !== 'not-sent') this.tellBreaker(failure.code !== 'ERR_REDIS_CONNECTION_LOST');
    if (failure.reply === 'MOVED' || failure.reply === 'CLUSTERDOWN' || failure.reply === 'READONLY') {
      // In a pipeline ioredis passes a redirect on without learning from it.
      this.endpoint!.misrouted();
    }
    if (this.stage === 'settled') return;
    this.lastFailure = { failure, cause: safeCause(error) };
    if (this.mayRepeat(failure)) return this.repeatLater();
    if (failure.code !== undefined) return this.unavailable(failure.code, failure.outcome, failure.text);
    this.fail(new RedisCommandError(failure.text, this.details(failure.outcome)));
  }

  /** For a connection: asked to, or on its way to the repetition of what lost its reply. */
  private get mayWait(): boolean {
    return this.operation.wait === true || this.gate.booting || this.maybeApplied;
  }

  private mayRepeat(failure: Failure): boolean {
    if (this.gate.closed) return false;
    if (failure.outcome === 'not-sent') return this.mayWait;
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
    this.gate.waiting.add(this);
  }

  private resume(): void {
    if (this.stage !== 'waiting') return;
    this.stage = 'idle';
    this.gate.waiting.delete(this);
    clearTimeout(this.retryTimer);
    this.cancelReady?.();
    this.cancelReady = undefined;
    this.sentAt = performance.now();
    this.attempt();
  }

  private giveUp(code: UnavailableCode, text: string, reason?: unknown): void {
    if (this.stage === 'settled') return;
    const sent = this.stage === 'sent';
    const last = this.lastFailure?.failure;
    const outcome = sent ? 'unknown' : (last?.outcome ?? 'not-sent');
    this.unavailable(code, outcome, last === undefined ? text : `${text}; before: ${last.text}`, reason);
    if (sent) this.watchReply();
  }

  /** An impatient caller says nothing about the server: a call counts as unanswered after `commandTimeout`. */
  private watchReply(): void {
    const left = (this.sentAt ?? this.startedAt) + this.gate.options.commandTimeout - performance.now();
    // A timer may fire a millisecond before its time.
    if (left <= 1) return this.tellBreaker(false);
    this.timer = setTimeout(() => this.tellBreaker(false), left).unref();
  }

  /** Each attempt counts once; a reply that comes later still proves nothing against what was counted. */
  private tellBreaker(answered: boolean): void {
    if (this.counted) return;
    this.counted = true;
    if (this.stage === 'settled') clearTimeout(this.timer);
    if (answered) this.endpoint!.breaker?.answered();
    else this.endpoint!.breaker?.unanswered();
  }

  private overloaded(text: string): void {
    this.unavailable('ERR_REDIS_OVERLOADED', 'not-sent', text);
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
      eventLoopDelayMs: this.eventLoopDelay,
      cause: cause ?? this.lastFailure?.cause,
    };
  }

  private fail(error: RedisUnavailableError | RedisCommandError): void {
    this.settle();
    this.gate.onFailure(error, this.attempts);
    // A caller that tries again at once would else keep the event loop from ever hearing that Redis is back.
    if (error.outcome === 'not-sent') setImmediate(() => this.conclude(error));
    else this.conclude(error);
  }

  private conclude(failure: Error): void {
    const { operation } = this;
    if (operation.onFailure === undefined) return this.reject(failure);
    try {
      this.resolve(operation.onFailure(failure));
    } catch (error) {
      this.reject(error as Error);
    }
  }

  private settle(): void {
    if (this.stage === 'waiting') this.gate.waiting.delete(this);
    this.stage = 'settled';
    this.lane?.delete(this);
    // What is rarely there is looked at first: this is on the path of every call.
    if (this.timer !== undefined) clearTimeout(this.timer);
    if (this.retryTimer !== undefined) clearTimeout(this.retryTimer);
    this.cancelReady?.();
    this.stopListening?.();
  }
}
