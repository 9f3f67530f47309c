import { RedisUnavailableError, type UnavailableCode } from '../connection/index.js';
import { backoffDelay, sleep } from '../core/index.js';
import { localDeadline, type LockCommands, type LockKeys } from './lock-commands.js';
import { LockUnavailableError } from './lock.errors.js';
import type { Reaper } from './reaper.js';

/** A lock that was taken. */
export interface Grant {
  readonly token: string;
  readonly fence: bigint;
  /** When the winning request was sent. */
  readonly sentAt: number;
  /** Whether another request with this token may still be on its way. */
  readonly straggler: boolean;
}

/** A lock that somebody else holds. */
export interface Busy {
  /** Milliseconds until the holder's lease ends. */
  readonly retryAfterMs: number;
}

export interface AcquisitionRequest {
  readonly keys: LockKeys;
  readonly lease: number;
  readonly wait: number;
  readonly signal: AbortSignal | undefined;
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
  'ERR_REDIS_DEADLINE',
]);

/** One acquisition: it asks until it has the lock, or its time is over, and leaves nothing behind that nobody knows of. */
export class Acquisition {
  #token: string;
  /** A request with the token may have been, or may still be, granted. */
  #straggler = false;
  #failures = 0;
  readonly #waitUntil: number;
  readonly #end: number;

  constructor(
    private readonly commands: LockCommands,
    private readonly reaper: Reaper,
    private readonly request: AcquisitionRequest,
  ) {
    const now = performance.now();
    this.#token = commands.newToken();
    this.#waitUntil = now + request.wait;
    this.#end = now + Math.max(request.wait, DECISION_TIME);
  }

  /**
   * @throws LockUnavailableError when Redis gave no decision in time
   * @throws RedisCommandError when Redis calls the command itself wrong
   * @throws `signal.reason`
   */
  async run(): Promise<Grant | Busy> {
    try {
      for (let refusals = 1; ; refusals++) {
        const outcome = await this.#decide();
        if ('token' in outcome) return outcome;
        const left = this.#waitUntil - performance.now();
        if (left <= 0) {
          this.#cleanUp();
          return outcome;
        }
        // At least 1 ms: full jitter alone may give a burst of several tries at once.
        const pause = Math.max(1, backoffDelay(refusals, { base: 10, max: 100 }));
        await sleep(Math.min(pause, left, outcome.retryAfterMs + 1), this.request.signal);
      }
    } catch (error) {
      this.#cleanUp();
      throw error;
    }
  }

  /** Asks once, and again for as long as there is no answer. */
  async #decide(): Promise<Grant | Busy> {
    for (;;) {
      const outcome = await this.#ask().catch((error: unknown) => this.#afterFailure(error));
      if (outcome !== undefined) return outcome;
    }
  }

  async #ask(): Promise<Grant | Busy | undefined> {
    const { keys, lease, signal } = this.request;
    signal?.throwIfAborted();
    const token = this.#token;
    const { reply, sentAt, repeated } = await this.commands.acquire(keys, token, lease, {
      deadline: Math.max(SHORTEST_CALL, this.#end - performance.now()),
      signal,
      onLateGrant: () => this.reaper.reap({ keys, token, leaseMs: lease }),
    });
    this.#straggler ||= repeated;
    if (reply[0] === 0) return { retryAfterMs: reply[1] < 0 ? Infinity : reply[1] };
    if (performance.now() < localDeadline(sentAt, lease)) {
      return { token, fence: BigInt(reply[1]), sentAt, straggler: this.#straggler };
    }
    this.#startOver();
    if (performance.now() < this.#end) return undefined;
    throw new LockUnavailableError(
      keys.lock,
      "it was granted, but the answer came after the lease had ended; give a longer 'lease'",
    );
  }

  /** The lock was granted too late to be of use. The clean-up must not meet a later grant, hence the new token. */
  #startOver(): void {
    this.#straggler = true;
    this.#cleanUp();
    this.#straggler = false;
    this.#token = this.commands.newToken();
  }

  async #afterFailure(error: unknown): Promise<undefined> {
    const { keys, signal } = this.request;
    if ((error as { outcome?: unknown }).outcome === 'unknown') this.#straggler = true;
    signal?.throwIfAborted();
    if (!(error instanceof RedisUnavailableError)) throw error;
    const pause = backoffDelay(++this.#failures, { base: 20, max: 250 });
    if (FINAL.has(error.code) || performance.now() + pause >= this.#end) {
      throw new LockUnavailableError(keys.lock, 'Redis could not be asked; nobody knows whether it is free', error);
    }
    await sleep(pause, signal);
  }

  #cleanUp(): void {
    if (!this.#straggler) return;
    const { keys, lease } = this.request;
    this.reaper.reap({ keys, token: this.#token, leaseMs: lease });
  }
}
