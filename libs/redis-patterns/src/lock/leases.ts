import type { EngineContext } from '../connection/index.js';
import { startTimer } from '../core/index.js';
import { Deadlines } from '../core/deadlines.js';
import type { AcquisitionRequest } from './acquisition.js';
import { Acquisitions, shuttingDown } from './acquisitions.js';
import type { Busy } from './grant.js';
import { HeldTimes } from './held-times.js';
import { HeldLease, type Keeping, type LeaseOwner } from './held-lease.js';
import { Identity } from './identity.js';
import { LeaseTracer, type LeaseKind, type Taken } from './lease-tracer.js';
import { LockUnavailableError } from './lock.errors.js';
import { Reaper } from './reaper.js';
import type { Resource } from './resource.js';
import { SuspendWatch } from './suspend-watch.js';
import { WakeUps } from './wake-ups.js';

/** How a lease is taken and kept; times are milliseconds. */
export interface LeaseCall extends Keeping, Omit<AcquisitionRequest, 'resource'> {}

/**
 * The leases of one service: whatever it leases to callers is waited for, renewed, lost in time, released and cleaned up here.
 *
 * @internal
 */
export class Leases {
  readonly identity = new Identity();
  readonly wakeUps: WakeUps;
  readonly reaper: Reaper;
  readonly #acquisitions: Acquisitions;
  readonly #owner: LeaseOwner;
  readonly #held = new Set<HeldLease>();
  readonly #times = new HeldTimes();
  readonly #running = new Set<Promise<unknown>>();
  readonly #suspend = new SuspendWatch(
    () => this.#held.size > 0,
    (ms) => this.#held.forEach((lease) => lease.wasSuspended(ms)),
  );

  readonly #trace: LeaseTracer;

  /** @param kind what is leased, for telemetry */
  constructor(
    private readonly context: EngineContext,
    kind: LeaseKind = 'lock',
  ) {
    const { commandTimeout } = context.connection;
    this.#trace = new LeaseTracer(context, kind);
    this.#trace.offerHeld(this.#held, this.#times);
    this.wakeUps = new WakeUps(context, this.identity);
    this.reaper = new Reaper(commandTimeout);
    this.#acquisitions = new Acquisitions(this);
    this.#owner = {
      reaper: this.reaper,
      firstLooks: new Deadlines(),
      commandTimeout,
      ended: (lease) => {
        if (this.#held.delete(lease)) this.#times.add(lease.name, lease.age);
      },
      lost: (lease, reason) => this.#trace.lost(lease, reason),
    };
  }

  /**
   * @throws LockUnavailableError, `signal.reason`
   */
  take(resource: Resource, call: LeaseCall): Promise<HeldLease | Busy> {
    return this.#trace.acquire(call, () => this.#take(resource, call));
  }

  async #take(resource: Resource, call: LeaseCall): Promise<HeldLease | Busy> {
    const { lease, wait, liveness, signal } = call;
    const outcome = await this.#acquisitions.obtain({ resource, lease, wait, liveness, signal });
    if (!('token' in outcome)) return outcome;
    const held = new HeldLease(this.#owner, resource, outcome, call);
    this.#held.add(held);
    this.#suspend.start();
    // Granted in the moment of the shutdown, which may have looked for held leases already.
    if (this.#acquisitions.isClosing) {
      await this.quietly(held.release());
      throw shuttingDown(resource.key);
    }
    return held;
  }

  /** Runs a function under something that was taken, and gives it back. Its result and its error pass unchanged. */
  async runUnder<T>(taken: Taken, fn: () => Promise<T> | T): Promise<T> {
    const running = this.#trace.held(taken, () => this.#run(taken, fn));
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /**
   * Refuses new leases, ends waiting, lets running functions end, and releases what is left.
   *
   * @param timeout how long running functions have, milliseconds
   */
  async close(timeout: number): Promise<void> {
    await this.#acquisitions.close();
    await settledWithin([...this.#running], timeout);
    await Promise.all([...this.#held].map((lease) => this.quietly(lease.shutDown())));
    // Functions that were told to stop settle now, and what they leave behind is cleaned up.
    await this.reaper.close();
    this.#suspend.stop();
    this.wakeUps.close();
  }

  /** None of it outlives its lease. */
  stats(): { readonly held: number; readonly running: number; readonly cleaning: number } {
    return { held: this.#held.size, running: this.#running.size, cleaning: this.reaper.size };
  }

  /** A release whose failure changes nothing for anybody: it is reported, and the lease ends by itself. */
  async quietly(release: Promise<unknown>): Promise<void> {
    try {
      await release;
    } catch (error) {
      const code = error instanceof LockUnavailableError ? error.code : 'ERR_LOCK_RELEASE';
      const message = 'A lock was not confirmed to be released; it ends with its lease';
      this.context.telemetry.emit('warning', { pattern: 'Lock', code, message });
    }
  }

  async #run<T>(taken: Taken, fn: () => Promise<T> | T): Promise<T> {
    try {
      return await fn();
    } finally {
      await this.quietly(taken.release());
    }
  }
}

async function settledWithin(promises: readonly Promise<unknown>[], ms: number): Promise<void> {
  if (promises.length === 0) return;
  await new Promise<void>((resolve) => {
    const timer = startTimer(ms, resolve, { keepAlive: true });
    void Promise.allSettled(promises).then(() => {
      timer.clear();
      resolve();
    });
  });
}
