import { RedisUnavailableError } from '../connection/index.js';
import { backoffDelay, raceSignal, sleep } from '../core/index.js';
import { Execution } from './execution.js';
import type { Finisher } from './finisher.js';
import type { BeginReply, Claim, IdempotencyCommands } from './idempotency-commands.js';
import { IdempotencyBusyError, IdempotencyMismatchError, IdempotencyUnavailableError } from './idempotency.errors.js';
import type { ResolvedIdempotencyCall } from './idempotency.options.js';

interface Answer {
  readonly reply: BeginReply;
  /** `undefined` when Redis was not asked. */
  readonly sentAt: number | undefined;
}

/** Decides whether a call runs, and leaves nothing behind of one that does not. */
export class Admission {
  #undecided = 0;
  readonly #closing = new AbortController();

  /** @param onUnprotected called when a call runs although Redis could not be asked */
  constructor(
    private readonly commands: IdempotencyCommands,
    private readonly finisher: Finisher,
    private readonly onUnprotected: () => void,
  ) {}

  /**
   * An execution, or the text of an earlier result.
   *
   * @throws IdempotencyBusyError, IdempotencyMismatchError, IdempotencyUnavailableError, `signal.reason`
   */
  async begin(claim: Claim, call: ResolvedIdempotencyCall): Promise<Execution | string> {
    this.#undecided += 1;
    try {
      return await this.#decide(claim, call);
    } finally {
      this.#undecided -= 1;
    }
  }

  async #decide(claim: Claim, call: ResolvedIdempotencyCall): Promise<Execution | string> {
    const waitUntil = performance.now() + (call.onBusy === 'wait' ? call.maxWait : 0);
    for (let refusals = 0; ;) {
      // Where somebody was seen to run, nothing is run unprotected.
      const { reply, sentAt } = await this.#ask(claim, call, call.onStoreError === 'open' && refusals === 0);
      if (reply[0] === 'new') return new Execution(claim, BigInt(reply[1]), this.commands, call.lease, sentAt);
      if (reply[0] === 'replay') return reply[1];
      if (reply[0] === 'mismatch') throw new IdempotencyMismatchError();
      const left = waitUntil - performance.now();
      if (left <= 0) throw new IdempotencyBusyError(reply[1]);
      const pause = 10 + backoffDelay(++refusals, { base: 20, max: 250 });
      await raceSignal(sleep(Math.min(pause, left), call.signal), this.#closing.signal);
    }
  }

  /** Ends the waiting. */
  close(): void {
    this.#closing.abort(new IdempotencyUnavailableError('the application is shutting down'));
  }

  /** Calls of which it is not known yet whether they run. */
  get size(): number {
    return this.#undecided;
  }

  async #ask(claim: Claim, { lease, signal }: ResolvedIdempotencyCall, open: boolean): Promise<Answer> {
    const onLate = ([state]: BeginReply): void => {
      if (state === 'new' && !open) this.#undo(claim, lease);
    };
    try {
      return await this.commands.begin(claim, lease, { onLate, ...(signal && { signal }) });
    } catch (error) {
      const unavailable = error instanceof RedisUnavailableError;
      if (unavailable && open && signal?.aborted !== true) {
        this.onUnprotected();
        // No server to ask for the time; the clocks of servers and applications differ by far less than the time between runs.
        return { reply: ['new', String(Date.now() * 1000)], sentAt: undefined };
      }
      if ((error as { outcome?: unknown }).outcome === 'unknown') this.#undo(claim, lease);
      signal?.throwIfAborted();
      throw unavailable ? new IdempotencyUnavailableError(error) : error;
    }
  }

  /** Nobody knows of a run that was begun after all, so nobody would end it before its lease does. */
  #undo(claim: Claim, lease: number): void {
    const free = (): Promise<unknown> => this.commands.free(claim, true);
    this.finisher.start(free, lease, () => undefined);
  }
}
