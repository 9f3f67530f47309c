import { LinkedList, type Linked } from '../core/linked-list.js';
import { mergeGaps, type PendingGap } from './gap.js';

export interface Arrived {
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export interface DeliveryQueueSetup<M extends Arrived> {
  /** Most messages that wait; those that are being handled do not count. */
  readonly maxPending: number;
  readonly overflow: 'drop-oldest' | 'drop-newest';
  /** Most messages that are handled at the same time. */
  readonly concurrency: number;
  /** Handles a message; a promise is waited for. Neither throws nor rejects. */
  readonly run: (message: M) => Promise<unknown> | undefined;
  /** Tells of a gap; no message begins before that is over. Neither throws nor rejects. */
  readonly tell: (gap: PendingGap) => Promise<unknown> | undefined;
  /** Half of the room is free (again). */
  readonly roomy?: () => void;
}

interface Item<M> extends Linked<Item<M>> {
  readonly message?: M;
  gap?: PendingGap;
}

/**
 * What waits for one handler: messages and gaps, in order, and never more than `maxPending` of either. When it is full, what is
 * dropped becomes a gap in its place.
 */
export class DeliveryQueue<M extends Arrived> {
  readonly #items = new LinkedList<Item<M>>();
  /** Comes before all items. */
  #firstGap: PendingGap | undefined;
  #last: Item<M> | undefined;
  #waiting = 0;
  #running = 0;
  #telling = false;
  #looping = false;
  #stopped = false;
  #idleWaiters: (() => void)[] = [];

  constructor(private readonly setup: DeliveryQueueSetup<M>) {}

  /** Messages that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How many more may wait. */
  get room(): number {
    return Math.max(0, this.setup.maxPending - this.#waiting);
  }

  push(message: M): void {
    if (this.#stopped || (this.room === 0 && !this.#makeRoom(message))) return;
    this.#waiting++;
    this.#add({ message });
  }

  /** Something is missing between what has come and what is to come. */
  gap(gap: PendingGap): void {
    if (this.#stopped) return;
    if (this.#last?.gap !== undefined) this.#last.gap = mergeGaps(this.#last.gap, gap);
    else this.#add({ gap });
  }

  /** Something is missing between what has been handled and what waits. */
  gapBefore(gap: PendingGap): void {
    this.#firstGap = this.#firstGap === undefined ? gap : mergeGaps(this.#firstGap, gap);
    this.#next();
  }

  /** Takes nothing more. */
  stop(): void {
    this.#stopped = true;
  }

  /** Forgets what waits. */
  clear(): void {
    for (const item of this.#items) this.#items.delete(item);
    this.#firstGap = undefined;
    this.#last = undefined;
    this.#waiting = 0;
    this.#next();
  }

  /** Resolves when nothing waits or is being handled. */
  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  get #isIdle(): boolean {
    return this.#items.size === 0 && this.#firstGap === undefined && this.#running === 0 && !this.#telling;
  }

  #add(item: Item<M>): void {
    this.#items.add(item);
    this.#last = item;
    this.#next();
  }

  #take(): Item<M> | undefined {
    const item = this.#items.first;
    if (item === undefined) return undefined;
    this.#items.delete(item);
    if (item === this.#last) this.#last = undefined;
    if (item.message !== undefined) this.#waiting--;
    return item;
  }

  /** @returns whether there is room for the message now */
  #makeRoom(message: M): boolean {
    if (this.setup.overflow === 'drop-newest') {
      this.gap(overflowOf(message));
      return false;
    }
    while (this.room === 0) {
      const { gap, message: dropped } = this.#take()!;
      const missing = gap ?? overflowOf(dropped!);
      this.#firstGap = this.#firstGap === undefined ? missing : mergeGaps(this.#firstGap, missing);
    }
    return true;
  }

  #next(): void {
    // A handler that ends at once must not begin the next one inside of itself.
    if (this.#looping) return;
    this.#looping = true;
    while (!this.#telling && this.#running < this.setup.concurrency && this.#step());
    this.#looping = false;
    if (this.#waiting <= this.setup.maxPending / 2) this.setup.roomy?.();
    if (this.#idleWaiters.length > 0 && this.#isIdle) this.#idleWaiters.splice(0).forEach((resolve) => resolve());
  }

  /** @returns whether there was something to do */
  #step(): boolean {
    const gap = this.#firstGap;
    if (gap !== undefined) {
      this.#firstGap = undefined;
      this.#tell(gap);
      return true;
    }
    const item = this.#take();
    if (item === undefined) return false;
    if (item.gap !== undefined) this.#tell(item.gap);
    else this.#run(item.message!);
    return true;
  }

  #tell(gap: PendingGap): void {
    const told = this.setup.tell(gap);
    if (told === undefined) return;
    this.#telling = true;
    void told.then(() => {
      this.#telling = false;
      this.#next();
    });
  }

  #run(message: M): void {
    const done = this.setup.run(message);
    if (done === undefined) return;
    this.#running++;
    void done.then(() => {
      this.#running--;
      this.#next();
    });
  }
}

function overflowOf({ at }: Arrived): PendingGap {
  return { from: at, to: at, reason: 'overflow', missed: 1 };
}
