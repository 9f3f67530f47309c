import { within } from '../core/timer.js';
import type { CachePolicy } from './cache-policy.js';
import type { LookupNote } from './cache-tracer.js';
import { CachedLoadError } from './cache.errors.js';
import type { CacheCounters } from './cache-stats.js';
import { decodeContent } from './entry.js';
import { OFFLINE, type EntryReader, type Found, type FoundValue } from './entry-reader.js';
import type { Question } from './entry-read.js';
import type { Flight, Flights } from './flights.js';
import type { L1 } from './l1/l1.js';
import { FactoryContext, type CacheFactory } from './load-context.js';
import type { CacheLoadFailure } from './load-failure.js';
import type { Loader } from './loader.js';
import type { RecoveryQueue } from './recovery-queue.js';
import { TimeBudget } from './time-budget.js';

/** A caller that a load did not cover joins another one so many times in all, then it loads for itself. */
const MAX_JOINS = 2;

/** What the parts of the engine are to a lookup. */
export interface LookupParts {
  readonly reader: EntryReader;
  readonly flights: Flights;
  readonly loader: Loader;
  readonly recovery: RecoveryQueue;
  readonly l1: L1 | undefined;
  readonly counters: CacheCounters;
  /** Milliseconds. */
  readonly operationTimeout: number;
  /** Told of a refresh that failed where nobody waited for it. */
  readonly onRefreshFailed: (policy: CachePolicy, error: unknown) => void;
}

/** One key and what makes its value. */
export interface Wanted {
  readonly entryKey: string;
  readonly factory: CacheFactory<unknown>;
  readonly policy: CachePolicy;
  /** Called when the factory is not run for this caller, or not yet. */
  readonly onWait?: () => void;
  /** For telemetry, while somebody listens. */
  readonly note?: LookupNote | undefined;
}

/** Finds values: in this process, in Redis, in a load that runs already, by a load of its own. */
export class Lookup {
  constructor(private readonly parts: LookupParts) {}

  /** The value of a copy in this process; in an object, as `undefined` is a value. */
  near(entryKey: string, { options, tags }: CachePolicy, note?: LookupNote): { readonly value: unknown } | undefined {
    const { l1, counters } = this.parts;
    if (l1 === undefined || !options.useL1) return undefined;
    const copy = l1.get(entryKey, tags);
    if (copy === undefined) return undefined;
    counters.l1Hits++;
    if (note !== undefined) tell(note, 'hit', 'l1');
    return copy;
  }

  /** What Redis has. What is still to be evicted counts as missing. */
  read(entryKey: string, policy: CachePolicy, budget = this.budget()): Promise<Found> {
    return this.#read(entryKey, policy, budget, (found) => found);
  }

  #read<T>(
    entryKey: string,
    policy: CachePolicy,
    budget: TimeBudget,
    use: (found: Found) => T | Promise<T>,
  ): Promise<T> {
    const { recovery, reader, l1 } = this.parts;
    if (recovery.has(entryKey)) return Promise.resolve(OFFLINE).then(use);
    const since = policy.options.useL1 ? l1?.moment(policy.tags) : undefined;
    if (since === undefined) return reader.read(entryKey, questionOf(policy, false), budget, use);
    return reader.read(entryKey, questionOf(policy, true), budget, (found) => {
      if (found.state === 'hit') l1!.fill(entryKey, found, since);
      return use(found);
    });
  }

  /** The same for many. */
  async readMany(entryKeys: readonly string[], policy: CachePolicy, budget = this.budget()): Promise<Found[]> {
    const { recovery, reader, l1 } = this.parts;
    if (entryKeys.length === 0) return [];
    const since = policy.options.useL1 ? l1?.moment(policy.tags) : undefined;
    const found = await reader.readMany(entryKeys, questionOf(policy, since !== undefined), budget);
    return found.map((one, index) => {
      const entryKey = entryKeys[index]!;
      if (recovery.has(entryKey)) return OFFLINE;
      if (since !== undefined && one.state === 'hit') l1!.fill(entryKey, one, since);
      return one;
    });
  }

  /** On the path of every hit: as few promises as can be. */
  getOrLoad(wanted: Wanted): Promise<unknown> {
    const { entryKey, policy, note } = wanted;
    const copy = this.near(entryKey, policy, note);
    if (copy !== undefined) return Promise.resolve(copy.value);
    const budget = this.budget();
    return this.#read(entryKey, policy, budget, (found) =>
      found.state === 'hit' ? this.#hit(wanted, found) : this.resolve(wanted, found, budget),
    );
  }

  /** The value for a caller who has found that in Redis. */
  async resolve(wanted: Wanted, first: Found, firstBudget: TimeBudget): Promise<unknown> {
    const { flights, loader, counters } = this.parts;
    const { entryKey, policy, factory } = wanted;
    const { signal, options } = policy;
    let found = first;
    let budget = firstBudget;
    for (let joins = 0; ; joins++) {
      if (found.state === 'hit') {
        wanted.onWait?.();
        return this.#hit(wanted, found);
      }
      if (found.state === 'stale') return this.#stale(wanted, found, budget);
      if (found.state === 'miss') this.#throwRemembered(wanted, policy.rememberedIn(found));
      signal?.throwIfAborted();
      if (joins === 0) {
        counters[found.state === 'miss' ? 'misses' : 'offline']++;
        if (wanted.note !== undefined) tell(wanted.note, found.state === 'miss' ? 'miss' : 'bypass', 'load');
      }
      const running = joins < MAX_JOINS && options.stampede !== 'none' ? flights.find(entryKey) : undefined;
      if (running === undefined) {
        const seenId = found.state === 'miss' ? found.seenId : '';
        // Written out: copies of wide objects are what a load costs beside its commands.
        const { onWait } = wanted;
        const offline = found.state === 'offline';
        const flight = loader.start({ entryKey, seenId, factory, policy, budget, offline, copy: undefined, onWait });
        const outcome = await flights.waits.wait(flight, signal, policy.name, entryKey);
        this.#throwRemembered(wanted, outcome.failure);
        return outcome.value;
      }
      wanted.onWait?.();
      const { ticket } = running;
      const { content, covers, offline, failure } = await flights.waits.wait(running, signal, policy.name, entryKey);
      if (failure === undefined) {
        // What cannot be copied cannot be shared: each caller makes its own.
        if (content === undefined) return factory(contextOf(policy));
        if (ticket <= covers || (offline && found.state === 'offline')) return decodeContent(content);
      } else if (ticket <= covers) this.#throwRemembered(wanted, policy.rememberedIn({ failure }));
      budget = this.budget();
      found = await this.read(entryKey, policy, budget);
    }
  }

  budget(): TimeBudget {
    return new TimeBudget(this.parts.operationTimeout);
  }

  /** @throws CachedLoadError if a load has failed before, and that is remembered; a new one for each caller */
  #throwRemembered({ policy, onWait }: Wanted, failure: CacheLoadFailure | undefined): void {
    if (failure === undefined) return;
    onWait?.();
    this.parts.counters.errorHits++;
    throw new CachedLoadError(policy.name, failure);
  }

  #hit(wanted: Wanted, found: FoundValue): unknown {
    this.parts.counters.hits++;
    if (wanted.note !== undefined) tell(wanted.note, 'hit', 'redis');
    const { beta } = wanted.policy.options;
    if (beta > 0 && isDue(found, beta) && this.parts.flights.find(wanted.entryKey) === undefined) {
      this.#refresh(wanted, found, this.budget());
    }
    return found.value;
  }

  /** A stale copy answers, unless the new value comes within the soft timeout; also when that cannot be loaded. */
  async #stale(wanted: Wanted, found: FoundValue, budget: TimeBudget): Promise<unknown> {
    const { counters, flights } = this.parts;
    const { policy, entryKey } = wanted;
    const { softTimeout } = policy.options;
    const running = flights.find(entryKey);
    if (running !== undefined) wanted.onWait?.();
    const flight = running ?? this.#refresh(wanted, found, budget);
    if (softTimeout > 0) {
      const { ticket } = flight;
      try {
        const outcome = await within(softTimeout, flight.wait(policy.signal), undefined);
        const loaded = outcome !== undefined && outcome.failure === undefined && running === undefined;
        const shared = outcome?.content !== undefined && ticket <= outcome.covers;
        if ((loaded || shared) && wanted.note !== undefined) tell(wanted.note, 'miss', 'load');
        if (loaded) return outcome.value;
        if (shared) return decodeContent(outcome.content!);
      } catch {
        // Whoever started the refresh reports it.
        policy.signal?.throwIfAborted();
      }
    }
    counters.staleHits++;
    if (wanted.note !== undefined) tell(wanted.note, 'stale', 'redis');
    return found.value;
  }

  #refresh(wanted: Wanted, copy: FoundValue, budget: TimeBudget): Flight {
    const { loader, onRefreshFailed } = this.parts;
    const { entryKey, factory, policy, onWait } = wanted;
    const seenId = copy.entry.id;
    const flight = loader.start({ entryKey, seenId, factory, policy, budget, offline: false, copy, onWait });
    flight.outcome.catch((error: unknown) => onRefreshFailed(wanted.policy, error));
    return flight;
  }
}

/** What was found first is what counts: after a load that was waited for there may be a hit. */
function tell(note: LookupNote, outcome: string, source: string): void {
  note.outcome ??= outcome;
  note.source ??= source;
}

/** For a factory that is run without the cache. */
export function contextOf(policy: CachePolicy): FactoryContext {
  return new FactoryContext({ signal: policy.signal ?? new AbortController().signal }, policy);
}

function questionOf({ tags, options }: CachePolicy, fill: boolean): Question {
  return { tags, pttl: fill || options.stale > 0 || options.beta > 0 };
}

/** XFetch: the nearer the end and the dearer the load, the more likely. */
function isDue({ entry, freshMs }: FoundValue, beta: number): boolean {
  return freshMs !== undefined && -Math.max(1, entry.loadMs) * beta * Math.log(Math.random()) >= freshMs;
}
