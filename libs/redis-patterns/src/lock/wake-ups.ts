import type { EngineContext, Subscription } from '../connection/index.js';
import { onAbort, startTimer, type Timer } from '../core/index.js';
import type { Identity } from './identity.js';

/** Waiters come back within that when messages may have been missed, so that not all of them do at once; milliseconds. */
const GAP_SPREAD = 100;
/** Between two polls while nobody can wake anybody; milliseconds. */
const POLL = { min: 50, max: 500 };
/** After a subscription was refused; milliseconds. */
const SUBSCRIBE_AGAIN = 60_000;

/**
 * The wake-ups of one process: one channel, on the subscriber of the connection, from the first time that somebody has to wait.
 * They are a matter of speed alone: whoever waits also comes back by himself.
 */
export class WakeUps {
  /** Of the channels of all processes. */
  readonly prefix: string;
  readonly #waiters = new Map<string, Waiter>();
  #subscription: Subscription | undefined;
  #subscribeFrom = 0;
  #live = false;

  constructor(
    private readonly context: EngineContext,
    private readonly identity: Identity,
  ) {
    this.prefix = `${context.keys.namespace}:lock~wake:`;
  }

  /** Whether messages come now. */
  get live(): boolean {
    return this.#live;
  }

  /** Somebody who waits from now on; call {@link Waiter.close} when that is over. */
  register(id: string): Waiter {
    const waiter = new Waiter(id, this);
    this.#waiters.set(id, waiter);
    return waiter;
  }

  /** @internal */
  unregister(waiter: Waiter): void {
    this.#waiters.delete(waiter.id);
  }

  /** Begins to listen, unless it does. */
  listen(): void {
    if (this.#subscription !== undefined || performance.now() < this.#subscribeFrom) return;
    this.#subscribeFrom = performance.now() + SUBSCRIBE_AGAIN;
    try {
      const subscription = this.context.connection.subscribe('channel', this.prefix + this.identity.id, {
        message: (payload) => this.#deliver(payload.toString()),
        gap: () => this.#heardAgain(),
        lost: () => this.#deaf(),
      });
      this.#subscription = subscription;
      subscription.confirmed().then(
        () => this.#heardAgain(),
        () => this.close(),
      );
    } catch {
      // The connection is closed: whoever waits hears that from its next attempt.
    }
  }

  close(): void {
    this.#live = false;
    this.#subscription?.close();
    this.#subscription = undefined;
  }

  /** `<waiter>`: look whether it is your turn; `<waiter> <fence>`: it is. */
  #deliver(message: string): void {
    const [waiter, fence] = message.split(' ', 2) as [string, string?];
    this.#waiters.get(waiter)?.wake(fence);
  }

  #heardAgain(): void {
    this.#live = this.#subscription !== undefined;
    for (const waiter of this.#waiters.values()) waiter.hurry(Math.random() * GAP_SPREAD);
  }

  #deaf(): void {
    this.#live = false;
    for (const waiter of this.#waiters.values()) waiter.hurry(pollDelay());
  }
}

/** Milliseconds until somebody who cannot be woken asks again. */
export function pollDelay(): number {
  return POLL.min + Math.random() * (POLL.max - POLL.min);
}

/** One caller that waits. */
export class Waiter {
  #woken = false;
  #fence: string | undefined;
  #sleep: { readonly until: number; timer: Timer; end: () => void } | undefined;

  constructor(
    readonly id: string,
    private readonly wakeUps: WakeUps,
  ) {}

  /**
   * Ends the sleep; while there is none, the next one.
   *
   * @param fence of the lease, if that was handed over
   */
  wake(fence?: string): void {
    if (fence !== undefined) this.#fence = fence;
    if (this.#sleep === undefined) this.#woken = true;
    else this.#sleep.end();
  }

  /** Ends the sleep within `ms`. A wake-up that may have been missed during an attempt counts as one. */
  hurry(ms: number): void {
    const sleep = this.#sleep;
    if (sleep === undefined) this.#woken = true;
    else if (performance.now() + ms < sleep.until) {
      sleep.timer.clear();
      sleep.timer = startTimer(ms, sleep.end);
    }
  }

  /**
   * Waits for a wake-up, at most `ms`.
   *
   * @returns the fence of the lease, if it was handed over
   * @throws `signal.reason`
   */
  async sleep(ms: number, signal: AbortSignal | undefined): Promise<string | undefined> {
    signal?.throwIfAborted();
    this.wakeUps.listen();
    if (!this.#woken) {
      await new Promise<void>((resolve) => {
        const stop = onAbort(signal, () => this.#sleep?.end());
        const end = (): void => {
          stop();
          this.#sleep?.timer.clear();
          this.#sleep = undefined;
          resolve();
        };
        const wait = this.wakeUps.live ? ms : Math.min(ms, pollDelay());
        this.#sleep = { until: performance.now() + wait, timer: startTimer(wait, end), end };
      });
    }
    this.#woken = false;
    signal?.throwIfAborted();
    const fence = this.#fence;
    this.#fence = undefined;
    return fence;
  }

  close(): void {
    this.wakeUps.unregister(this);
  }
}
