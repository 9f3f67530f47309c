import { onAbort } from '../core/index.js';
import { Acquisition, type Busy, type Grant } from './acquisition.js';
import type { LockCommands, LockKeys } from './lock-commands.js';
import { LockUnavailableError } from './lock.errors.js';
import type { ResolvedLockCall } from './lock.options.js';
import type { Reaper } from './reaper.js';

/** Why a shutdown ends the waiting. */
const CLOSING = Symbol('closing');

/** The acquisitions of one application that are not decided yet. */
export class Acquisitions {
  readonly #undecided = new Set<Promise<unknown>>();
  readonly #waiting = new Set<AbortController>();
  #closing = false;

  constructor(
    private readonly commands: LockCommands,
    private readonly reaper: Reaper,
  ) {}

  get isClosing(): boolean {
    return this.#closing;
  }

  /** @throws LockUnavailableError also when the application is shutting down; else as {@link Acquisition.run} */
  async obtain(keys: LockKeys, call: ResolvedLockCall): Promise<Grant | Busy> {
    if (this.#closing) throw shuttingDown(keys);
    const decision = call.wait === 0 ? this.#ask(keys, call, call.signal) : this.#wait(keys, call);
    this.#undecided.add(decision);
    try {
      return await decision;
    } finally {
      this.#undecided.delete(decision);
    }
  }

  /** Refuses new ones, ends the waiting, and resolves when all are decided: the others are within a second. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const waiter of this.#waiting) waiter.abort(CLOSING);
    await Promise.allSettled(this.#undecided);
  }

  #ask(keys: LockKeys, { lease, wait }: ResolvedLockCall, signal: AbortSignal | undefined): Promise<Grant | Busy> {
    return new Acquisition(this.commands, this.reaper, { keys, lease, wait, signal }).run();
  }

  /** With a controller for each: a signal that all of them listen to would make Node.js warn of a leak. */
  async #wait(keys: LockKeys, call: ResolvedLockCall): Promise<Grant | Busy> {
    const waiter = new AbortController();
    const unlink = onAbort(call.signal, (reason) => waiter.abort(reason));
    this.#waiting.add(waiter);
    try {
      return await this.#ask(keys, call, waiter.signal);
    } catch (error) {
      throw error === CLOSING ? shuttingDown(keys) : error;
    } finally {
      this.#waiting.delete(waiter);
      unlink();
    }
  }
}

/** What an acquisition during a shutdown is told. */
export function shuttingDown(keys: LockKeys): LockUnavailableError {
  return new LockUnavailableError(keys.lock, 'the application is shutting down, so no lock is taken any more');
}
