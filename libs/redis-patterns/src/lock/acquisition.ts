import { RedisUnavailableError, type UnavailableCode } from '../connection/index.js';
import { backoffDelay, sleep } from '../core/index.js';
import { handedOver, refusalOf, type Busy, type Grant, type Refusal } from './grant.js';
import { waiterId, type Identity } from './identity.js';
import { LockUnavailableError } from './lock.errors.js';
import type { Reaper } from './reaper.js';
import { localDeadline, type Resource } from './resource.js';
import { pollDelay, type Waiter, type WakeUps } from './wake-ups.js';

/** One acquisition; times are milliseconds. */
export interface AcquisitionRequest {
  readonly resource: Resource;
  readonly lease: number;
  readonly wait: number;
  /** How long a waiter counts as alive after it was last heard of. */
  readonly liveness: number;
  readonly signal: AbortSignal | undefined;
}

/** What all acquisitions of a service share. */
export interface AcquisitionTools {
  readonly identity: Identity;
  readonly reaper: Reaper;
  readonly wakeUps: WakeUps;
}

/** The time in which one caller waits. */
export interface Wait {
  /** Aborts when the caller gives up, and when the application shuts down. */
  readonly signal: AbortSignal;
  end(): void;
}

/** How long one decision may take when Redis does not answer at once, milliseconds. */
const DECISION_TIME = 1000;
/** What a last try gets, so that a busy lock is not taken for a Redis that is down; milliseconds. */
const SHORTEST_CALL = 50;
/** No repetition helps, or one would make it worse. */
const FINAL: ReadonlySet<UnavailableCode> = new Set<UnavailableCode>([
  'ERR_REDIS_CLOSED',
  'ERR_REDIS_BREAKER_OPEN',
  'ERR_REDIS_OVERLOADED',
]);

/** It asks until it has the lease, or its time is over, and leaves nothing behind that nobody knows of. */
export class Acquisition {
  #token: string;
  /** A request with the token may have been, or may still be, granted. */
  #straggler = false;
  #queued = false;
  #failures = 0;
  /** It has ended without a grant. */
  #failed = false;
  #waiter: Waiter | undefined;
  /** The last answer, if it was no. */
  #refusal: Refusal | undefined;
  /** From the first time that it is not granted at once: most locks are free, and a signal costs as much as the rest. */
  #wait: Wait | undefined;
  readonly #waitUntil: number;
  readonly #end: number;

  constructor(
    private readonly tools: AcquisitionTools,
    private readonly request: AcquisitionRequest,
    private readonly waits: { beginWait(signal: AbortSignal | undefined): Wait },
  ) {
    const { wait } = request;
    const now = performance.now();
    this.#token = this.#begin();
    this.#waitUntil = now + wait;
    this.#end = now + Math.max(wait, DECISION_TIME);
  }

  /**
   * @throws LockUnavailableError when Redis gave no decision in time
   * @throws RedisCommandError when Redis calls the command itself wrong
   * @throws `signal.reason`
   */
  async run(): Promise<Grant | Busy> {
    try {
      for (;;) {
        const outcome = await this.#decide();
        if ('token' in outcome) return outcome;
        const left = this.#waitUntil - performance.now();
        if (left <= 0) {
          this.#failed = true;
          this.#cleanUp(this.#waiter);
          return outcome;
        }
        const grant = await this.#rest(outcome, left);
        if (grant !== undefined) return grant;
      }
    } catch (error) {
      this.#failed = true;
      this.#cleanUp(this.#waiter);
      throw error;
    } finally {
      this.#wait?.end();
      this.#waiter?.close();
    }
  }

  /** @returns the token of a new acquisition, whose wake-ups are heard before its first request could cause one */
  #begin(): string {
    const { identity, wakeUps } = this.tools;
    const { wait, lease, resource } = this.request;
    const token = identity.newToken();
    this.#waiter?.close();
    if (wait > 0 && resource.waiterKind !== undefined) {
      this.#waiter = wakeUps.register(waiterId(token, lease, resource.waiterKind));
    }
    return token;
  }

  /**
   * Sleeps until it is woken, or it makes sense to ask again without.
   *
   * @returns the lease, if it was handed over
   */
  #rest({ leftMs, rank, headMs }: Refusal, left: number): Promise<Grant | undefined> {
    const { liveness } = this.request;
    if (this.#waiter === undefined) return this.#sleep(Math.min(pollDelay(), left));
    // Two heartbeats in each `liveness`, not all at the same time.
    let ms = Math.min(left, (liveness / 2) * (0.8 + Math.random() * 0.4));
    // A lease that ends, and a head that dies, wake nobody: the one to profit looks himself.
    if (rank === 0 && leftMs >= 0) ms = Math.min(ms, leftMs + 1);
    if (rank === 1 && headMs > 0) ms = Math.min(ms, headMs + 1);
    return this.#sleep(ms);
  }

  async #sleep(ms: number): Promise<Grant | undefined> {
    const { signal } = this.#waiting();
    if (this.#waiter === undefined) {
      await sleep(ms, signal);
      return undefined;
    }
    const fence = await this.#waiter.sleep(ms, signal);
    if (fence === undefined || this.#refusal === undefined || this.request.resource.handsOver !== true)
      return undefined;
    const lease = handedOver(fence, this.#refusal, this.request);
    return lease && { ...lease, token: this.#token, straggler: this.#straggler };
  }

  /** Asks once, and again for as long as there is no answer. */
  async #decide(): Promise<Grant | Refusal> {
    for (;;) {
      try {
        const outcome = await this.#ask();
        if (outcome !== undefined) return outcome;
      } catch (error) {
        const grant = await this.#afterFailure(error);
        if (grant !== undefined) return grant;
      }
    }
  }

  #waiting(): Wait {
    return (this.#wait ??= this.waits.beginWait(this.request.signal));
  }

  async #ask(): Promise<Grant | Refusal | undefined> {
    const { resource, lease } = this.request;
    const signal = this.#wait?.signal ?? this.request.signal;
    signal?.throwIfAborted();
    const token = this.#token;
    const waiter = this.#waiter?.id ?? '';
    this.#queued = waiter !== '';
    const { reply, sentAt, repeated } = await resource.attempt(token, waiter, lease, {
      // Not the whole wait: it is asked again, and deadlines of all lengths cost a timer each.
      deadline: Math.max(SHORTEST_CALL, Math.min(DECISION_TIME, this.#end - performance.now())),
      signal,
      onLateGrant: () => this.#afterLateGrant(token),
    });
    this.#straggler ||= repeated;
    if (reply[0] === 0) return (this.#refusal = refusalOf(reply, sentAt));
    this.#queued = false;
    const deadline = localDeadline(sentAt, lease);
    if (performance.now() < deadline) {
      const fence = BigInt(reply[1]);
      return { token, fence, since: sentAt, deadline, handedOver: false, straggler: this.#straggler };
    }
    this.#startOver();
    if (performance.now() < this.#end) return undefined;
    throw new LockUnavailableError(
      resource.key,
      "it was granted, but the answer came after the lease had ended; give a longer 'lease'",
    );
  }

  /** Granted too late to be of use. The clean-up must not meet a later grant, hence the new token. */
  #startOver(): void {
    this.#straggler = true;
    this.#cleanUp(undefined);
    this.#straggler = false;
    this.#token = this.#begin();
  }

  async #afterFailure(error: unknown): Promise<Grant | undefined> {
    const { resource } = this.request;
    const { signal } = this.#waiting();
    const unconfirmed = error instanceof LockUnavailableError;
    if (unconfirmed || (error as { outcome?: unknown }).outcome === 'unknown') this.#straggler = true;
    signal.throwIfAborted();
    if (!(error instanceof RedisUnavailableError)) throw error;
    const pause = backoffDelay(++this.#failures, { base: 20, max: 250 });
    if (FINAL.has(error.code) || performance.now() + pause >= this.#end) {
      throw new LockUnavailableError(resource.key, 'Redis could not be asked; nobody knows whether it is free', error);
    }
    return this.#sleep(pause);
  }

  /** While it is asked again, or has been granted to a later request, the token finds its own grant: that is no leftover. */
  #afterLateGrant(token: string): void {
    const { resource, lease } = this.request;
    if (token === this.#token && !this.#failed) return;
    this.tools.reaper.reap({ resource, token, waiter: '', leaseMs: lease, straggler: true });
  }

  #cleanUp(waiter: Waiter | undefined): void {
    if (!this.#straggler && !this.#queued) return;
    const { resource, lease } = this.request;
    const waiterId = waiter?.id ?? '';
    this.tools.reaper.reap({
      resource,
      token: this.#token,
      waiter: waiterId,
      leaseMs: lease,
      straggler: this.#straggler,
    });
  }
}
