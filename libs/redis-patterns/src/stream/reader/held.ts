import { onAbort } from '../../core/abort.js';
import type { ResolvedReaderOptions } from '../consumer.options.js';
import type { EntryState, HeldEntry } from './held-entry.js';
import type { Plane } from './scope.js';

/** Most entries of one read. */
const MAX_COUNT = 200;
/** Acknowledgements on their way that take no room: reading need not wait for their answers. More do, while Redis is away. */
const FREE_ACKS = 256;

interface Waiter {
  readonly least: number;
  readonly wake: () => void;
}

/** All entries that a reader holds, and the room for more. */
export class Held {
  /** By plane: ids of the stream and of its retries may be equal. */
  readonly #planes: readonly [Map<string, HeldEntry>, Map<string, HeldEntry>] = [new Map(), new Map()];
  readonly #waiters = new Set<Waiter>();
  readonly #capacity: number;
  #bytes = 0;
  #acked = 0;
  #averageBytes = 256;
  #paused = false;

  /**
   * @param largestBatch messages that one place of `concurrency` may take
   * @param onResume called when the group is no longer paused
   */
  constructor(
    private readonly options: ResolvedReaderOptions,
    largestBatch = 1,
    private readonly onResume: () => void = () => undefined,
  ) {
    this.#capacity = options.concurrency * largestBatch + options.prefetch;
  }

  /** How many entries may be asked for now. Bounded by places and by bytes. */
  get room(): number {
    const { maxBufferedBytes } = this.options;
    const places = this.#places;
    if (this.#paused || places < 1 || this.#bytes >= maxBufferedBytes) return 0;
    const affordable = Math.ceil((maxBufferedBytes - this.#bytes) / this.#averageBytes);
    return Math.min(places, affordable, MAX_COUNT);
  }

  /** Whether the group is paused: then there is no room, and nothing starts. */
  get paused(): boolean {
    return this.#paused;
  }

  set paused(paused: boolean) {
    if (paused === this.#paused) return;
    this.#paused = paused;
    if (paused) return;
    this.onResume();
    this.#wake();
  }

  get size(): number {
    return this.#planes[0].size + this.#planes[1].size;
  }

  get #places(): number {
    return this.#capacity - this.size + Math.min(this.#acked, FREE_ACKS);
  }

  get(plane: Plane, id: string): HeldEntry | undefined {
    return this.#planes[plane.isRetry].get(id);
  }

  *values(): Iterable<HeldEntry> {
    yield* this.#planes[0].values();
    yield* this.#planes[1].values();
  }

  of(plane: Plane, filter: (entry: HeldEntry) => boolean): HeldEntry[] {
    return [...this.#planes[plane.isRetry].values()].filter(filter);
  }

  ids(plane: Plane): string[] {
    return [...this.#planes[plane.isRetry].keys()];
  }

  /** @returns false when it is held already */
  add(entry: HeldEntry): boolean {
    const entries = this.#planes[entry.plane.isRetry];
    if (entries.has(entry.id)) return false;
    entries.set(entry.id, entry);
    this.#bytes += entry.bytes;
    this.#averageBytes = Math.max(1, 0.9 * this.#averageBytes + 0.1 * entry.bytes);
    return true;
  }

  /** It is done, and held until Redis has confirmed that. */
  acked(entry: HeldEntry): void {
    if (entry.state === 'acked' || !this.has(entry)) return;
    entry.state = 'acked';
    this.#acked++;
    this.#wake();
  }

  remove(entry: HeldEntry): void {
    const entries = this.#planes[entry.plane.isRetry];
    if (entries.get(entry.id) !== entry) return;
    entries.delete(entry.id);
    if (entry.state === 'acked') this.#acked--;
    this.#bytes -= entry.bytes;
    this.#wake();
  }

  has(entry: HeldEntry): boolean {
    return this.#planes[entry.plane.isRetry].get(entry.id) === entry;
  }

  count(state: EntryState): number {
    let count = 0;
    for (const entry of this.values()) if (entry.state === state) count++;
    return count;
  }

  /**
   * Waits until entries may be asked for, and that many places are free.
   *
   * @throws `signal.reason`
   */
  async whenRoom(least: number, signal: AbortSignal): Promise<void> {
    while (this.room === 0 || this.#places < least) {
      await new Promise<void>((resolve, reject) => {
        const stop = onAbort(signal, (reason) => {
          this.#waiters.delete(waiter);
          reject(reason as Error);
        });
        const wake = (): void => {
          this.#waiters.delete(waiter);
          stop();
          resolve();
        };
        const waiter: Waiter = { least, wake };
        this.#waiters.add(waiter);
      });
    }
  }

  #wake(): void {
    if (this.#waiters.size === 0 || this.room === 0) return;
    for (const { least, wake } of this.#waiters) if (this.#places >= least) wake();
  }
}
