import { readNotes, type RawFields } from '../message.js';
import { LeaseLostError } from '../stream.errors.js';
import type { Plane } from './scope.js';

/**
 * - `buffered`: waits for a place, or for its batch; `running`: in a handler;
 * - `moving`: becomes a retry or a dead letter; `acked`: done, the acknowledgement is not confirmed yet.
 */
export type EntryState = 'buffered' | 'running' | 'moving' | 'acked';

/** An entry that is pending for this consumer and that this process knows of. */
export class HeldEntry {
  state: EntryState = 'buffered';
  /** Trimmed from the stream while it was ours: nobody else can run it any more. */
  gone = false;
  /** The lease went to somebody else. */
  lost = false;
  /** When its run began, and from when on it counts as slow, as `performance.now()` counts. */
  startedAt = 0;
  slowAt = Infinity;
  /** Moves the end of its handler's `timeout` to that many milliseconds from now. */
  moveTimeout: ((ms: number) => void) | undefined;
  /** Id in the stream of messages: the same in every attempt. */
  readonly originalId: string;
  readonly bytes: number;
  /** Attempts that have failed. */
  readonly failures: number;
  /** Starts that never came to an end, before it became the entry that it is now. */
  readonly #crashes: number;
  #controller: AbortController | undefined;
  #reason: Error | undefined;

  constructor(
    readonly plane: Plane,
    readonly id: string,
    readonly fields: RawFields,
    /** How often it was delivered, as Redis counts. */
    public count: number,
    /** Whether its next start must be counted: it was delivered to somebody before. */
    public redelivered: boolean,
    /** When its lease was asked for, as `performance.now()` counts: it lasts at least `lease` from then. */
    public leasedAt = 0,
  ) {
    let bytes = 0;
    for (const text of fields) bytes += text.length;
    this.bytes = bytes;
    if (plane.isRetry === 0) {
      this.originalId = id;
      this.failures = 0;
      this.#crashes = 0;
      return;
    }
    const notes = readNotes(fields, id);
    this.originalId = notes.originalId;
    this.failures = notes.attempt;
    this.#crashes = notes.deliveries;
  }

  /** How often consumers began with it and did not come to an end; the present run does not count. */
  get unfinishedStarts(): number {
    return this.#crashes + this.count - (this.redelivered ? 0 : 1);
  }

  /** Made when it is asked for: most handlers never do. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** Why its signal has aborted. */
  get abortReason(): Error | undefined {
    return this.#reason;
  }

  /** Its lease went to somebody else. */
  lose(reader: string): void {
    this.lost = true;
    this.abort(new LeaseLostError(this.originalId, reader));
  }

  abort(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
