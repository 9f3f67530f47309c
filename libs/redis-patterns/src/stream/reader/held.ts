import { onAbort } from '../../core/abort.js';
import type { Timer } from '../../core/timer.js';
import type { ResolvedReaderOptions } from '../consumer.options.js';
import type { RawFields } from '../message.js';

/**
 * - `buffered`: waits for a place; `running`: in a handler; `parked`: waits for its next attempt;
 * - `settling`: becomes a dead letter; `acked`: done, the acknowledgement is not confirmed yet.
 */
export type EntryState = 'buffered' | 'running' | 'parked' | 'settling' | 'acked';

/** Most entries of one read. */
const MAX_COUNT = 100;

/** An entry that is pending for this consumer and that this process knows of. */
export class HeldEntry {
  state: EntryState = 'buffered';
  /** Trimmed from the stream while it was ours: nobody else can run it any more. */
  gone = false;
  /** The lease went to somebody else. */
  lost = false;
  parking: Timer | undefined;
  /** How often no handler was found for it. */
  misses = 0;
  readonly bytes: number;
  #controller: AbortController | undefined;
  #reason: Error | undefined;

  constructor(
    readonly id: string,
    readonly fields: RawFields,
    /** How often it was started, as Redis counts. */
    public deliveries: number,
    /** Attempts that have failed. */
    public failures: number,
    /** Whether its next start must be counted: it was delivered to somebody before. */
    public redelivered: boolean,
  ) {
    this.bytes = fields.reduce((sum, text) => sum + text.length, 0);
  }

  /** Made when it is asked for: most handlers never do. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  abort(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }

  /** For the next attempt, which has a signal of its own. */
  renewSignal(): void {
    this.#controller = undefined;
    this.#reason = undefined;
  }
}

/** All entries that a reader holds, and the room for more. */
export class Held {
  readonly #entries = new Map<string, HeldEntry>();
  readonly #waiters = new Set<() => void>();
  #bytes = 0;
  #parked = 0;
  #averageBytes = 256;

  constructor(private readonly options: ResolvedReaderOptions) {}

  /** How many entries may be asked for now. Bounded by places, by bytes and by what waits for its next attempt. */
  get room(): number {
    const { maxBufferedBytes, maxParked } = this.options;
    const places = this.#places;
    if (places < 1 || this.#bytes >= maxBufferedBytes || this.#parked >= maxParked) return 0;
    const affordable = Math.ceil((maxBufferedBytes - this.#bytes) / this.#averageBytes);
    return Math.min(places, affordable, MAX_COUNT);
  }

  get size(): number {
    return this.#entries.size;
  }

  get #places(): number {
    const { concurrency, prefetch } = this.options;
    return concurrency + prefetch - (this.#entries.size - this.#parked);
  }

  get(id: string): HeldEntry | undefined {
    return this.#entries.get(id);
  }

  has(id: string): boolean {
    return this.#entries.has(id);
  }

  values(): Iterable<HeldEntry> {
    return this.#entries.values();
  }

  ids(...states: EntryState[]): string[] {
    return [...this.#entries.values()].filter(({ state }) => states.includes(state)).map(({ id }) => id);
  }

  /** The lowest id, as the stream orders them. */
  lowest(): string | undefined {
    let lowest: string | undefined;
    for (const id of this.#entries.keys()) if (lowest === undefined || compareIds(id, lowest) < 0) lowest = id;
    return lowest;
  }

  /** @returns false when it is held already */
  add(entry: HeldEntry): boolean {
    if (this.#entries.has(entry.id)) return false;
    this.#entries.set(entry.id, entry);
    this.#bytes += entry.bytes;
    this.#averageBytes = Math.max(1, 0.9 * this.#averageBytes + 0.1 * entry.bytes);
    return true;
  }

  remove(entry: HeldEntry): void {
    if (this.#entries.get(entry.id) !== entry) return;
    this.setState(entry, 'acked');
    this.#entries.delete(entry.id);
    this.#bytes -= entry.bytes;
    this.#wake();
  }

  setState(entry: HeldEntry, state: EntryState): void {
    if (entry.state === 'parked') {
      entry.parking?.clear();
      entry.parking = undefined;
      this.#parked--;
    }
    entry.state = state;
    if (state !== 'parked') return;
    this.#parked++;
    this.#wake();
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
          this.#waiters.delete(wake);
          reject(reason as Error);
        });
        const wake = (): void => {
          stop();
          resolve();
        };
        this.#waiters.add(wake);
      });
    }
  }

  #wake(): void {
    if (this.#waiters.size === 0) return;
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const wake of waiters) wake();
  }
}

export function compareIds(a: string, b: string): number {
  const [aMs, aSeq = '0'] = a.split('-');
  const [bMs, bSeq = '0'] = b.split('-');
  return compareNumbers(aMs!, bMs!) || compareNumbers(aSeq, bSeq);
}

/** Decimal texts without leading zeros, of any length. */
function compareNumbers(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
