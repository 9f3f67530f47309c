import { onAbort } from '../core/index.js';
import { Acquisition, type AcquisitionRequest, type AcquisitionTools, type Wait } from './acquisition.js';
import type { Busy, Grant } from './grant.js';
import { LockUnavailableError } from './lock.errors.js';

/** Why a shutdown ends the waiting. */
const CLOSING = Symbol('closing');

/** The acquisitions of one service that are not decided yet. */
export class Acquisitions {
  readonly #undecided = new Set<Promise<unknown>>();
  readonly #waiting = new Set<AbortController>();
  #closing = false;

  constructor(private readonly tools: AcquisitionTools) {}

  get isClosing(): boolean {
    return this.#closing;
  }

  /** @throws LockUnavailableError also when the application is shutting down; else as {@link Acquisition.run} */
  async obtain(request: AcquisitionRequest): Promise<Grant | Busy> {
    if (this.#closing) throw shuttingDown(request.resource.key);
    const decision = new Acquisition(this.tools, request, this).run();
    this.#undecided.add(decision);
    try {
      return await decision;
    } catch (error) {
      throw error === CLOSING ? shuttingDown(request.resource.key) : error;
    } finally {
      this.#undecided.delete(decision);
    }
  }

  /**
   * Somebody has to wait, which also a shutdown ends. With a controller for each: a signal that all of them listen to would
   * make Node.js warn of a leak.
   */
  beginWait(signal: AbortSignal | undefined): Wait {
    const controller = new AbortController();
    if (this.#closing) controller.abort(CLOSING);
    const unlink = onAbort(signal, (reason) => controller.abort(reason));
    this.#waiting.add(controller);
    return {
      signal: controller.signal,
      end: () => {
        this.#waiting.delete(controller);
        unlink();
      },
    };
  }

  /** Refuses new ones, ends the waiting, and resolves when all are decided: the others are within a second. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const waiter of this.#waiting) waiter.abort(CLOSING);
    await Promise.allSettled(this.#undecided);
  }
}

/** What an acquisition during a shutdown is told. */
export function shuttingDown(key: string): LockUnavailableError {
  return new LockUnavailableError(key, 'the application is shutting down, so no lock is taken any more');
}
