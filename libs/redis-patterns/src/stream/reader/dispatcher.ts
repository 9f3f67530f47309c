import { backoffDelay } from '../../core/backoff.js';
import { startTimer } from '../../core/timer.js';
import { Batches } from './batches.js';
import type { Held } from './held.js';
import type { HeldEntry } from './held-entry.js';
import type { LeaseKeeper } from './lease.js';
import type { Prepared, Preparation } from './preparation.js';
import type { Runner } from './runner.js';
import { report, type ReaderScope } from './scope.js';
import type { Acks } from './settle.js';
import type { Starts } from './starts.js';
import { isSuspect, Waiting } from './waiting.js';

/** Pause before an entry is looked at again whose start could not be counted. */
const START_RETRY = { base: 100, max: 5000 };

/** Renewals in a row of a lease that is over before anybody looks at it. */
const MAX_RENEWALS = 3;

interface Parts {
  readonly scope: ReaderScope;
  readonly held: Held;
  readonly acks: Acks;
  readonly preparation: Preparation;
  readonly starts: Starts;
  readonly runner: Runner;
  readonly leases: LeaseKeeper;
}

/** Gives entries a place, never more than `concurrency` at a time. */
export class Dispatcher {
  readonly #waiting = new Waiting();
  readonly #batches = new Batches(() => this.pump());
  readonly #idleWaiters = new Set<() => void>();
  #running = 0;
  #stopped = false;

  constructor(private readonly parts: Parts) {}

  accept(entries: readonly HeldEntry[]): void {
    for (const entry of entries) this.#waiting.add(entry);
    this.pump();
  }

  /** Starts nothing new from now on. */
  stop(): void {
    this.#stopped = true;
    this.#batches.stop();
  }

  /** @returns whether no handler runs any more, after `ms` at the latest */
  async idleWithin(ms: number): Promise<boolean> {
    if (this.#running === 0) return true;
    await new Promise<void>((resolve) => {
      const timer = startTimer(ms, resolve, { keepAlive: true });
      this.#idleWaiters.add(() => {
        timer.clear();
        resolve();
      });
    });
    return this.#running === 0;
  }

  /** Starts what has a place. */
  pump(): void {
    const { scope, held } = this.parts;
    while (!this.#stopped && !held.paused && this.#running < scope.options.concurrency) {
      const batch = this.#batches.take();
      if (batch !== undefined) {
        this.#running++;
        void this.#runBatch(batch);
        continue;
      }
      const entry = this.#waiting.take();
      if (entry === undefined) return;
      // Lost, and dropped, while it waited.
      if (!held.has(entry)) {
        this.#waiting.ended(entry);
        continue;
      }
      this.#running++;
      entry.state = 'running';
      void this.#run(entry);
    }
  }

  async #run(entry: HeldEntry): Promise<void> {
    try {
      const preparing = this.parts.preparation.prepare(entry);
      const prepared = preparing instanceof Promise ? await preparing : preparing;
      if (prepared === undefined) {
        // It has been disposed of.
      } else if (entry.unfinishedStarts === 0 && prepared.route.options.batch === undefined && !this.#stopped) {
        await this.#runOne(prepared);
      } else await this.#runOrGather(prepared);
    } catch (error) {
      this.#broke(entry, error);
    }
    this.#waiting.ended(entry);
    this.#placeIsFree();
  }

  async #runOrGather(prepared: Prepared): Promise<void> {
    const { entry, route } = prepared;
    const { batch } = route.options;
    if (this.#stopped || (batch !== undefined && !isSuspect(entry))) {
      entry.state = 'buffered';
      if (!this.#stopped) this.#batches.add(prepared, batch!);
      return;
    }
    if (entry.unfinishedStarts > 0 && !(await this.#mayStart(entry))) return;
    // What kills processes must not take a batch with it.
    await (batch === undefined ? this.#runOne(prepared) : this.parts.runner.runBatch([prepared]));
  }

  #runOne(prepared: Prepared): Promise<void> {
    const { scope, runner } = this.parts;
    return scope.options.ordering === 'none' ? runner.run(prepared) : this.#runInOrder(prepared);
  }

  async #runInOrder(prepared: Prepared): Promise<void> {
    const { entry } = prepared;
    if (!(await this.#isOurs(entry))) return;
    if (this.#stopped) entry.state = 'buffered';
    else await this.parts.runner.run(prepared);
  }

  async #runBatch(batch: readonly Prepared[]): Promise<void> {
    const started: Prepared[] = [];
    try {
      for (const prepared of batch) {
        const { entry } = prepared;
        if (!this.parts.held.has(entry)) continue;
        entry.state = 'running';
        if (entry.unfinishedStarts === 0 || (await this.#mayStart(entry))) started.push(prepared);
      }
      if (started.length > 0) await this.parts.runner.runBatch(started);
    } catch (error) {
      for (const { entry } of started) this.#broke(entry, error);
    }
    this.#placeIsFree();
  }

  async #mayStart(entry: HeldEntry): Promise<boolean> {
    const permission = await this.parts.starts.allow(entry);
    if (permission === 'later') this.#acceptLater(entry);
    return permission === 'run';
  }

  /**
   * Whether its lease lasts at the moment: this process may have stood still since it was given. Then others may have run the
   * message, and the next one of its key, and a late start would be out of order.
   */
  async #isOurs(entry: HeldEntry): Promise<boolean> {
    const { scope, held, leases } = this.parts;
    for (let asked = 0; performance.now() - entry.leasedAt >= scope.options.lease; asked++) {
      try {
        if (asked === MAX_RENEWALS) throw new Error('leases end as soon as they are renewed');
        await leases.extend(entry);
      } catch {
        if (entry.lost) held.remove(entry);
        else this.#acceptLater(entry);
        return false;
      }
    }
    return true;
  }

  /** A fault of ours must not stop the reader, nor be taken for success: the entry is tried again. */
  #broke(entry: HeldEntry, error: unknown): void {
    const { scope } = this.parts;
    report(scope, 'ERR_STREAM_INTERNAL', `Entry ${entry.originalId} of ${scope.label} could not be run`, error);
    if (entry.state === 'running') this.#acceptLater(entry);
  }

  #acceptLater(entry: HeldEntry): void {
    entry.state = 'buffered';
    startTimer(backoffDelay(3, START_RETRY), () => {
      if (!this.#stopped && this.parts.held.has(entry)) this.accept([entry]);
    });
  }

  #placeIsFree(): void {
    this.#running--;
    this.pump();
    if (this.#running > 0) return;
    // Nothing else is to come that could share the batch.
    this.parts.acks.flush();
    for (const resolve of this.#idleWaiters) resolve();
    this.#idleWaiters.clear();
  }
}
