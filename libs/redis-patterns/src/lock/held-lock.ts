import { RedisUnavailableError } from '../connection/index.js';
import { backoffDelay, sleep, startTimer, type Timer } from '../core/index.js';
import type { Grant } from './acquisition.js';
import { localDeadline, type LockCommands, type LockKeys } from './lock-commands.js';
import { LockLostError, LockUnavailableError, type LockLostReason } from './lock.errors.js';
import type { ResolvedLockCall } from './lock.options.js';
import type { Leftover, Reaper } from './reaper.js';

/** How long a release, or an extension that was asked for, is tried; milliseconds. */
const CONFIRM_TIME = 1000;
/** A timer that comes later than this was held up by the event loop, not by Redis; milliseconds. */
const LATE_TIMER = 50;

/** What a held lock needs from its service. */
export interface LockOwner {
  readonly commands: LockCommands;
  readonly reaper: Reaper;
  /** Called when the lock has been lost, and when it is being released. */
  ended(lock: HeldLock): void;
}

/**
 * A lock while it is held: its local deadline, its renewals, its end. Several handles may share it (re-entrance); it is
 * released when the last one is.
 */
export class HeldLock {
  /** Handles that have not been released. */
  references = 1;
  #deadline: number;
  readonly #maxHoldAt: number;
  #renewAt = Infinity;
  /** A renewal failed after the last that succeeded. */
  #renewalFailed = false;
  #timer: Timer | undefined;
  #lost: LockLostError | undefined;
  #controller: AbortController | undefined;
  #releasing: Promise<boolean> | undefined;
  /** Extensions, one after the other. Never rejects. */
  #extending: Promise<unknown> | undefined;

  constructor(
    private readonly owner: LockOwner,
    readonly keys: LockKeys,
    readonly grant: Grant,
    private readonly call: ResolvedLockCall,
  ) {
    this.#deadline = localDeadline(grant.sentAt, call.lease);
    this.#maxHoldAt = grant.sentAt + call.maxHold;
    this.#scheduleRenewal(grant.sentAt + call.lease / 3);
  }

  /** When the holder must stop, on the clock of `performance.now()`. */
  get deadline(): number {
    return Math.min(this.#deadline, this.#maxHoldAt);
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.lost !== undefined) this.#controller.abort(this.lost);
    return this.#controller.signal;
  }

  /** Set for ever once the lock was lost. Reads the clock, so that it is right before a delayed timer has run. */
  get lost(): LockLostError | undefined {
    if (this.#lost === undefined && this.#releasing === undefined) {
      const now = performance.now();
      if (now >= this.deadline) this.#lose(this.#reasonAt(now));
    }
    return this.#lost;
  }

  get isHeld(): boolean {
    return this.lost === undefined && this.#releasing === undefined;
  }

  /** @throws LockLostError when it was lost, also before it was released */
  assertHeld(): void {
    if (this.isHeld) return;
    throw this.#lost ?? new LockLostError(this.keys.lock, 'expired');
  }

  /**
   * Makes it last at least `leaseMs` from now.
   *
   * @throws LockLostError, LockUnavailableError
   */
  async extend(leaseMs: number = this.call.lease): Promise<void> {
    this.assertHeld();
    const { lock } = this.keys;
    const failure = await this.#extendInTurn(leaseMs, CONFIRM_TIME);
    if (this.lost !== undefined) throw this.lost;
    if (failure instanceof RedisUnavailableError) {
      throw new LockUnavailableError(lock, 'the extension was not confirmed; it is held until its deadline', failure);
    }
    if (failure !== undefined) throw failure;
  }

  /**
   * Gives it back. Idempotent.
   *
   * @returns whether it was held until now
   * @throws LockUnavailableError when Redis did not confirm
   */
  release(): Promise<boolean> {
    this.#releasing ??= this.#release(this.lost);
    return this.#releasing;
  }

  /** Tells the holder to stop, and gives it back all the same. */
  async shutDown(): Promise<void> {
    if (this.isHeld) this.#lose('max-hold');
    await this.release();
  }

  async #release(lost: LockLostError | undefined): Promise<boolean> {
    this.#stop();
    // A renewal that arrives after the release does nothing, but in a pool it may overtake.
    await this.#extending;
    if (lost !== undefined && lost.reason !== 'max-hold') {
      // The key may still live, or come back: a request that was not confirmed may have been applied late.
      if (lost.reason === 'unreachable' || this.#renewalFailed || this.grant.straggler) {
        this.owner.reaper.reap(this.#leftover);
      }
      return false;
    }
    const released = await this.#releaseInRedis();
    if (this.grant.straggler) this.owner.reaper.reapStraggler(this.#leftover);
    return released && lost === undefined;
  }

  async #releaseInRedis(): Promise<boolean> {
    const { commands, reaper } = this.owner;
    const end = performance.now() + CONFIRM_TIME;
    let maybeReleased = false;
    for (let attempt = 1; ; attempt++) {
      const deadline = Math.min(commands.commandTimeout, Math.max(1, end - performance.now()));
      try {
        const reply = await commands.release(this.keys, this.grant.token, { deadline, single: true });
        return reply === 1 || this.#notThere(reply, maybeReleased);
      } catch (error) {
        maybeReleased ||= (error as { outcome?: unknown }).outcome === 'unknown';
        if (!(error instanceof RedisUnavailableError)) throw error;
        const pause = backoffDelay(attempt, { base: 20, max: 200 });
        if (error.code === 'ERR_REDIS_CLOSED' || performance.now() + pause >= end) {
          reaper.reap(this.#leftover);
          throw new LockUnavailableError(
            this.keys.lock,
            'its release was not confirmed; it ends with its lease',
            error,
          );
        }
        await sleep(pause);
      }
    }
  }

  /** The key was not ours any more: released by our own first try, expired on the way, or lost while we thought we had it. */
  #notThere(reply: 0 | -1, maybeReleased: boolean): boolean {
    if (performance.now() >= this.deadline) return false;
    if (!maybeReleased) this.#lost ??= new LockLostError(this.keys.lock, reply === 0 ? 'stolen' : 'expired');
    return maybeReleased;
  }

  get #leftover(): Leftover {
    return { keys: this.keys, token: this.grant.token, leaseMs: this.call.lease };
  }

  #stop(): void {
    this.#timer?.clear();
    this.#renewAt = Infinity;
    this.owner.ended(this);
  }

  #lose(reason: LockLostReason): void {
    this.#lost = new LockLostError(this.keys.lock, reason);
    this.#stop();
    this.#controller?.abort(this.#lost);
  }

  #reasonAt(now: number): LockLostReason {
    if (this.#maxHoldAt <= this.#deadline) return 'max-hold';
    if (this.#renewalFailed) return 'unreachable';
    return this.#extending !== undefined && now - this.#deadline <= LATE_TIMER ? 'unreachable' : 'expired';
  }

  #scheduleRenewal(at: number): void {
    if (this.call.autoExtend) this.#renewAt = at;
    this.#arm();
  }

  #arm(): void {
    this.#timer?.clear();
    const due = Math.min(this.#renewAt, this.deadline);
    this.#timer = startTimer(Math.max(1, Math.ceil(due - performance.now())), () => this.#onTimer());
  }

  #onTimer(): void {
    // The clock first: when the event loop was blocked for too long, it is too late for a renewal.
    if (!this.isHeld) return;
    if (performance.now() >= this.#renewAt) void this.#renew();
    this.#arm();
  }

  async #renew(): Promise<void> {
    this.#renewAt = Infinity;
    const failure = await this.#extendInTurn(this.call.lease, this.owner.commands.commandTimeout);
    if (failure === undefined || !this.isHeld) return;
    this.#renewalFailed = true;
    this.#scheduleRenewal(performance.now() + Math.max(50, this.call.lease / 10));
  }

  /** @returns why Redis did not answer; an answer of any kind has been dealt with */
  #extendInTurn(leaseMs: number, timeout: number): Promise<Error | undefined> {
    const turn = Promise.resolve(this.#extending)
      .then(() => this.#extendNow(leaseMs, timeout))
      .catch((error: unknown) => error as Error);
    this.#extending = turn;
    return turn.finally(() => {
      if (this.#extending === turn) this.#extending = undefined;
    });
  }

  async #extendNow(leaseMs: number, timeout: number): Promise<undefined> {
    if (!this.isHeld) return;
    const deadline = Math.max(1, Math.min(timeout, this.deadline - performance.now()));
    const { reply, sentAt } = await this.owner.commands.extend(this.keys, this.grant.token, leaseMs, { deadline });
    // An answer after the deadline revives nothing.
    if (!this.isHeld) return;
    if (reply !== 1) return this.#lose(reply === 0 ? 'stolen' : 'expired') as undefined;
    this.#renewalFailed = false;
    this.#deadline = Math.max(this.#deadline, localDeadline(sentAt, leaseMs));
    this.#scheduleRenewal(sentAt + this.call.lease / 3);
  }
}
