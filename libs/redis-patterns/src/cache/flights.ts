import { raceSignal } from '../core/abort.js';
import { LinkedList, type Linked } from '../core/linked-list.js';
import type { Content } from './entry.js';
import type { CacheLoadFailure } from './load-failure.js';
import { LoadWaits } from './load-waits.js';
import { NO_TAGS, type TagNames } from './tags.js';

/** What a load has come to. */
export interface LoadOutcome {
  /** The very value of the factory (or the entry that was found): for the caller that started the load. */
  readonly value: unknown;
  /** For all others, who get copies; `undefined` when the value cannot be copied. */
  readonly content: Content | undefined;
  /** The last ticket that the value is fresh enough for; `Infinity` for all. */
  readonly covers: number;
  /** Loaded without Redis, so that nothing is known of other processes: fit for callers who could not reach Redis either. */
  readonly offline: boolean;
  /** In place of a value: a load has failed before, which is remembered. */
  readonly failure?: CacheLoadFailure;
}

/**
 * A load that several callers of this process wait for.
 *
 * A caller must never get a value that was read before its call began, as an eviction may have been acknowledged in
 * between. So each caller takes a ticket, and before every command or factory that may decide the outcome the load begins a
 * new round: the outcome says up to which round it covers those who wait.
 */
export class Flight implements Linked<Flight> {
  before: Flight | undefined;
  behind: Flight | undefined;
  /** Made when somebody asks for the signal: most factories do not, and it is the dearest part of a load. */
  #controller: AbortController | undefined;
  #round = 0;
  #waiting = 0;
  #ended = false;
  /** How many callers have waited for it. */
  waits = 0;
  #outcome: Promise<LoadOutcome> | undefined;

  constructor(
    private readonly onAbandoned: (flight: Flight) => void,
    /** Those of its entry that are known; `undefined`: the value may bring more. */
    readonly tags: TagNames | undefined = NO_TAGS,
  ) {}

  /** Aborts when no caller is left, or when the application closes. */
  get signal(): AbortSignal {
    return this.#abortable.signal;
  }

  get aborted(): boolean {
    return this.#controller?.signal.aborted ?? false;
  }

  /** Until it has ended. */
  get outcome(): Promise<LoadOutcome> {
    return this.#outcome!;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** It has ended: what still refers to it (former tables of a map do) is not to keep the value. */
  release(): void {
    this.#ended = true;
    this.#outcome = undefined;
  }

  start(load: (flight: Flight) => Promise<LoadOutcome>): void {
    this.#outcome = load(this);
  }

  /** Callers that wait for it now. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Ticket for a caller who joins now. */
  get ticket(): number {
    return this.#round;
  }

  /** Ends a round. Returns the last ticket that what is done from now on covers. */
  nextRound(): number {
    return this.#round++;
  }

  /** @throws what the factory throws; `signal.reason` when the caller gives up */
  async wait(signal: AbortSignal | undefined): Promise<LoadOutcome> {
    this.#waiting++;
    this.waits++;
    try {
      return await raceSignal(this.outcome, signal);
    } finally {
      if (--this.#waiting === 0 && signal?.aborted === true) {
        this.onAbandoned(this);
        this.abort(signal.reason);
      }
    }
  }

  get #abortable(): AbortController {
    return (this.#controller ??= new AbortController());
  }

  abort(reason: unknown): void {
    this.#abortable.abort(reason);
  }
}

/** The running loads of this process. */
export class Flights {
  readonly waits = new LoadWaits();
  /** Those that new callers join. */
  readonly #byKey = new Map<string, Flight>();
  /** All, also those that were detached: for the end of the application. */
  readonly #running = new LinkedList<Flight>();

  /** The load that a new caller joins, if there is one. */
  find(entryKey: string): Flight | undefined {
    return this.#byKey.get(entryKey);
  }

  /** Starts a load that others can join, unless they join another one, until it has ended or is detached. */
  start(entryKey: string, load: (flight: Flight) => Promise<LoadOutcome>, tags?: TagNames | 'unknown'): Flight {
    const flight = new Flight(
      (abandoned) => this.leave(entryKey, abandoned),
      tags === 'unknown' ? undefined : (tags ?? NO_TAGS),
    );
    if (!this.#byKey.has(entryKey)) this.#byKey.set(entryKey, flight);
    this.#running.add(flight);
    flight.start(load);
    const end = (): void => {
      this.leave(entryKey, flight);
      this.#running.delete(flight);
      if (this.#running.size === 0) this.waits.rest();
      flight.release();
    };
    // Also of a load that fails when all callers have left; those who wait get the error by their own promise.
    flight.outcome.then(end, end);
    return flight;
  }

  /** Lets nobody join that load any more. */
  leave(entryKey: string, flight: Flight): void {
    if (this.#byKey.get(entryKey) === flight) this.#byKey.delete(entryKey);
  }

  /** Lets nobody join the running load of a key: what it reads has changed. */
  detach(entryKey: string): void {
    this.#byKey.delete(entryKey);
  }

  /** The same for every load whose entry has, or may have, one of these tags. */
  detachTags(names: TagNames): void {
    for (const [entryKey, { tags }] of this.#byKey) {
      if (tags === undefined || tags.some((tag) => names.includes(tag))) this.#byKey.delete(entryKey);
    }
  }

  /** The same for all. */
  detachAll(): void {
    this.#byKey.clear();
  }

  get size(): number {
    return this.#running.size;
  }

  /** Callers that wait for a load now. */
  get waiters(): number {
    let waiters = 0;
    for (const { waiting } of this.#running) waiters += waiting;
    return waiters;
  }

  /** Resolves when no load runs any more, or when the signal aborts; then the loads are aborted too. */
  async drain(signal: AbortSignal): Promise<void> {
    const ends = [...this.#running].map((flight) => flight.outcome.catch(() => {}));
    await raceSignal(Promise.all(ends), signal).catch(() => {});
    for (const flight of this.#running) flight.abort(signal.reason);
  }
}
