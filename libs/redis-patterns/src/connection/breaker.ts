export interface BreakerLimits {
  /** Consecutive calls without an answer that open it. */
  readonly failures: number;
  /** Milliseconds between two probes while it is open. */
  readonly openFor: number;
}

/** A stretch of calls that is looked at as a whole: it begins with a call without an answer and lasts this long at most. */
const STRETCH = 10_000;
/** Calls that a stretch needs before their share says anything. */
const ENOUGH_CALLS = 20;

/**
 * Keeps calls from a socket whose server does not answer: they would only wait for their deadline, and pile up. It opens
 * after `failures` consecutive calls without an answer, or when half of at least 20 calls had none. While it is open only
 * the layer's own PING goes through, and only the answer to that closes it again. (Nygard, "Release It!", 2nd ed., ch. 5,
 * with an active probe instead of a trial call, so that no caller pays for it.)
 */
export class Breaker {
  #open = false;
  #consecutive = 0;
  #since = Number.NEGATIVE_INFINITY;
  #calls = 0;
  #failures = 0;
  #probing = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly limits: BreakerLimits,
    /** Asks the server for a sign of life; `false`, or no answer at all, leaves the breaker open. */
    private readonly ping: () => Promise<boolean>,
    private readonly changed: (state: 'open' | 'closed') => void,
  ) {}

  get isOpen(): boolean {
    return this.#open;
  }

  /** A call was answered, be it by a refusal. */
  answered(): void {
    this.#consecutive = 0;
    this.#calls++;
  }

  /** A call was not answered in time, or its socket was lost. */
  unanswered(): void {
    if (this.#open) return;
    const now = performance.now();
    if (now - this.#since > STRETCH) {
      this.#since = now;
      this.#calls = 0;
      this.#failures = 0;
    }
    this.#consecutive++;
    this.#calls++;
    this.#failures++;
    const half = this.#calls >= ENOUGH_CALLS && this.#failures * 2 >= this.#calls;
    if (half || this.#consecutive >= this.limits.failures) this.#trip();
  }

  /** Asks at once instead of at the next turn, for a socket that has just become ready. */
  probe(): void {
    if (!this.#open || this.#probing) return;
    this.#probing = true;
    void this.ping().then(
      (alive) => {
        this.#probing = false;
        if (alive) this.#close();
      },
      () => (this.#probing = false),
    );
  }

  /** Ends the probes. */
  dispose(): void {
    clearInterval(this.#timer);
  }

  #trip(): void {
    this.#open = true;
    // A breaker that is open keeps no process running.
    this.#timer = setInterval(() => this.probe(), this.limits.openFor).unref();
    this.changed('open');
    // A hiccup may be over already: then it costs one round trip.
    this.probe();
  }

  #close(): void {
    if (!this.#open) return;
    this.#open = false;
    clearInterval(this.#timer);
    this.#consecutive = 0;
    // The next call without an answer begins a stretch of its own.
    this.#since = Number.NEGATIVE_INFINITY;
    this.changed('closed');
  }
}
