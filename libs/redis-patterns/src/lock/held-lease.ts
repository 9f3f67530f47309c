import { RedisUnavailableError } from '../connection/index.js';
import { startTimer, type Timer } from '../core/index.js';
import type { Deadlines, Expiring, Lane } from '../core/deadlines.js';
import type { Grant } from './grant.js';
import { CONFIRM_TIME, confirmLeave } from './confirm-leave.js';
import { LockLostError, LockUnavailableError, type LockLostReason } from './lock.errors.js';
import type { Leftover, Reaper } from './reaper.js';
import { localDeadline, type Resource } from './resource.js';

/** A timer that comes later than this was held up by the event loop, not by Redis; milliseconds. */
const LATE_TIMER = 50;

/** What a lease needs from its service. */
export interface LeaseOwner {
  readonly reaper: Reaper;
  /** First look at each lease. Most are given back before it, and cost no timer of their own. */
  readonly firstLooks: Deadlines;
  /** Milliseconds. */
  readonly commandTimeout: number;
  /** Called when the lease has been lost, and when it is being released. */
  ended(lease: HeldLease): void;
  /** Called when it was lost, by nobody's wish. */
  lost(lease: HeldLease, reason: LockLostReason): void;
}

/** How a lease is kept; times are milliseconds. */
export interface Keeping {
  /** Who asks, for telemetry: `Class.method`. */
  readonly name: string;
  readonly lease: number;
  readonly maxHold: number;
  readonly autoExtend: boolean;
}

/** A lease while it is held: its local deadline, its renewals, its end. */
export class HeldLease implements Expiring {
  /** Handles that have not been released. */
  #references = 1;
  #autoExtend: boolean;
  /** @internal of its lane */
  startedAt = performance.now();
  #lane: Lane | undefined;
  #timer: Timer | undefined;
  #deadline: number;
  readonly #maxHoldAt: number;
  #renewAt = Infinity;
  /** A renewal failed after the last that succeeded. */
  #renewalFailed = false;
  #lost: LockLostError | undefined;
  #controller: AbortController | undefined;
  #releasing: Promise<boolean> | undefined;
  /** Extensions, one after the other. Never rejects. */
  #extending: Promise<unknown> | undefined;

  constructor(
    private readonly owner: LeaseOwner,
    readonly resource: Resource,
    readonly grant: Grant,
    private readonly keeping: Keeping,
  ) {
    this.#autoExtend = keeping.autoExtend;
    this.#deadline = grant.deadline;
    this.#maxHoldAt = grant.since + keeping.maxHold;
    // What was handed over lasts for as long as a waiter counts as alive. The holder, who has waited for it, begins before that.
    if (grant.handedOver) {
      this.#arm();
      setImmediate(() => void this.#renew());
    } else this.#keepOn();
  }

  get name(): string {
    return this.keeping.name;
  }

  /** For how long it is held, milliseconds. */
  get age(): number {
    return performance.now() - this.grant.since;
  }

  /** For how long it may be held, milliseconds. */
  get maxHold(): number {
    return this.keeping.maxHold;
  }

  get key(): string {
    return this.resource.key;
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

  /** Set for ever once the lease was lost. Reads the clock, so that it is right before a delayed timer has run. */
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
    throw this.#lost ?? new LockLostError(this.key, 'released');
  }

  /**
   * Makes it last at least `leaseMs` from now.
   *
   * @throws LockLostError, LockUnavailableError
   */
  async extend(leaseMs: number = this.keeping.lease): Promise<void> {
    this.assertHeld();
    const failure = await this.#extendInTurn(leaseMs, CONFIRM_TIME);
    if (this.lost !== undefined) throw this.lost;
    if (failure instanceof RedisUnavailableError) {
      throw new LockUnavailableError(
        this.key,
        'the extension was not confirmed; it is held until its deadline',
        failure,
      );
    }
    if (failure !== undefined) throw failure;
  }

  /** The machine may have stood still for so long, milliseconds: if the lease may have ended meanwhile, Redis is asked. */
  wasSuspended(ms: number): void {
    const remaining = this.deadline - performance.now();
    if (ms < remaining || !this.isHeld) return;
    void this.#renew(this.#autoExtend ? this.keeping.lease : Math.ceil(remaining));
    this.#arm();
  }

  /** From now on it is renewed, or not any more. */
  autoExtend(on: boolean): void {
    this.#autoExtend = on;
  }

  /** One more handle for it. */
  retain(): this {
    this.#references++;
    return this;
  }

  /** One handle less: as {@link release} for the last one. */
  drop(): Promise<boolean> {
    this.#references--;
    return this.#references > 0 ? Promise.resolve(this.isHeld) : this.release();
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
    if (this.isHeld) this.#end('max-hold');
    await this.release();
  }

  async #release(lost: LockLostError | undefined): Promise<boolean> {
    this.#stop();
    if (lost !== undefined && lost.reason !== 'max-hold') {
      // The key may still live, or come back: a request that was not confirmed may have been applied late.
      if (lost.reason === 'unreachable' || this.#renewalFailed || this.grant.straggler) {
        this.owner.reaper.reap(this.#leftover);
      }
      return false;
    }
    const { commandTimeout, reaper } = this.owner;
    const { reply, repeated } = await confirmLeave(this.resource, this.grant.token, commandTimeout, () =>
      reaper.reap(this.#leftover),
    );
    const released = reply === 1 || this.#notThere(reply, repeated);
    if (this.grant.straggler) this.owner.reaper.reapStraggler(this.#leftover);
    return released && lost === undefined;
  }

  /** It was not ours any more: released by our own first try, expired on the way, or lost while we thought we had it. */
  #notThere(reply: 0 | -1, maybeReleased: boolean): boolean {
    if (performance.now() >= this.deadline) return false;
    if (maybeReleased) return true;
    const reason = reply === 0 ? 'stolen' : 'expired';
    if (this.#lost === undefined) this.owner.lost(this, reason);
    this.#lost ??= new LockLostError(this.key, reason);
    return false;
  }

  get #leftover(): Leftover {
    const { resource, grant, keeping } = this;
    return { resource, token: grant.token, waiter: '', leaseMs: keeping.lease, straggler: true };
  }

  #stop(): void {
    this.#lane?.delete(this);
    this.#timer?.clear();
    this.#renewAt = Infinity;
    this.owner.ended(this);
  }

  #lose(reason: LockLostReason): void {
    this.owner.lost(this, reason);
    this.#end(reason);
  }

  #end(reason: LockLostReason): void {
    this.#lost = new LockLostError(this.key, reason);
    this.#stop();
    this.#controller?.abort(this.#lost);
  }

  #reasonAt(now: number): LockLostReason {
    if (this.#maxHoldAt <= this.#deadline) return 'max-hold';
    if (this.#renewalFailed) return 'unreachable';
    return this.#extending !== undefined && now - this.#deadline <= LATE_TIMER ? 'unreachable' : 'expired';
  }

  /** Nothing to do for a third of the lease, unless the grant was so long on its way that less than that is left. */
  #keepOn(): void {
    this.#timer?.clear();
    this.#lane?.delete(this);
    this.startedAt = performance.now();
    const firstLook = this.keeping.lease / 3;
    // A deadline is kept to the millisecond, which only a timer of its own does.
    if (this.deadline - this.startedAt <= firstLook) {
      if (this.#autoExtend && this.#deadline < this.#maxHoldAt) void this.#renew();
      this.#arm();
    } else this.#lane = this.owner.firstLooks.add(this, firstLook);
  }

  /** @internal of its lane: time to renew, and from now on to watch the deadline */
  expire(): void {
    if (!this.isHeld) return;
    if (this.#autoExtend) void this.#renew();
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

  async #renew(leaseMs = this.keeping.lease): Promise<void> {
    this.#renewAt = Infinity;
    const failure = await this.#extendInTurn(leaseMs, this.owner.commandTimeout);
    if (failure === undefined || !this.isHeld) return;
    this.#renewalFailed = true;
    this.#renewAt = performance.now() + Math.max(50, this.keeping.lease / 10);
    this.#arm();
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
    const { reply, sentAt } = await this.resource.extend(this.grant.token, leaseMs, { deadline });
    // An answer after the deadline revives nothing.
    if (!this.isHeld) return;
    if (reply !== 1) return this.#lose(reply === 0 ? 'stolen' : 'expired') as undefined;
    this.#renewalFailed = false;
    this.#renewAt = Infinity;
    this.#deadline = Math.max(this.#deadline, localDeadline(sentAt, leaseMs));
    this.#keepOn();
  }
}
