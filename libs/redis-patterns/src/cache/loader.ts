import { sleep } from '../core/abort.js';
import { Deadline } from '../core/deadline.js';
import type { CachePolicy } from './cache-policy.js';
import { encodeContent, type Content } from './entry.js';
import type { EntryReader } from './entry-reader.js';
import type { EntryStore } from './entry-store.js';
import type { Flight, Flights, LoadOutcome } from './flights.js';
import { keepLease } from './lease-keeper.js';
import { FactoryContext, type CacheFactory } from './load-context.js';
import { isRedisFailure, mayHaveRun } from './redis-failure.js';
import type { TimeBudget } from './time-budget.js';

/** A value to load. */
export interface LoadRequest {
  readonly entryKey: string;
  /** Id of the entry that was found and cannot be used, or `''`. */
  readonly seenId: string;
  readonly factory: CacheFactory<unknown>;
  readonly policy: CachePolicy;
  readonly budget: TimeBudget;
  /** Redis does not answer: load without it. */
  readonly offline: boolean;
}

export interface LoaderOptions {
  /** Milliseconds. */
  readonly operationTimeout: number;
  /** Told of a value that cannot be stored. */
  readonly onUncacheable: (policy: CachePolicy, error: unknown) => void;
}

/**
 * In which part a process loads: as the owner of the lease, who stores; as a guest, who does not; or without Redis. Or the
 * value has been found after all.
 */
type Turn =
  | { readonly kind: 'owner'; readonly token: string }
  | { readonly kind: 'guest' | 'offline' }
  | { readonly kind: 'found'; readonly outcome: LoadOutcome };

/** What a factory has made. `ttl` is milliseconds, 0 for what is not to be stored. */
interface Loaded {
  readonly value: unknown;
  readonly content: Content | undefined;
  readonly ttl: number;
  readonly loadMs: number;
}

const FIRST_POLL = 20;
const LONGEST_POLL = 100;

/**
 * Loads missing values: takes the lease, runs the factory, and stores what it gave if nothing has taken the lease away
 * meanwhile (leases as in Nishtala et al., "Scaling Memcache at Facebook", NSDI 2013).
 */
export class Loader {
  constructor(
    private readonly store: EntryStore,
    private readonly reader: EntryReader,
    private readonly flights: Flights,
    private readonly options: LoaderOptions,
  ) {}

  start(request: LoadRequest): Flight {
    return this.flights.start(request.entryKey, (flight) => this.#load(request, flight));
  }

  async #load(request: LoadRequest, flight: Flight): Promise<LoadOutcome> {
    const turn: Turn = request.offline ? { kind: 'offline' } : await this.#takeTurn(request, flight);
    if (turn.kind === 'found') return turn.outcome;
    const present = flight.nextRound();
    const { value, content, ...loaded } = await this.#runFactory(request, turn, flight);
    // Before the deciding command is written: who comes later than that would not be covered by its answer.
    this.flights.leave(request.entryKey, flight);
    const unchanged = await this.#settle(request, turn, { value, content, ...loaded });
    return { value, content, covers: unchanged ? Infinity : present, offline: turn.kind === 'offline' };
  }

  /** Asks for the lease until there is it, or the value; while another process loads at most `wait`. */
  async #takeTurn({ entryKey, policy, budget, ...request }: LoadRequest, flight: Flight): Promise<Turn> {
    const { lease, wait, maxHold } = policy.options;
    let { seenId } = request;
    let patience: Deadline | undefined;
    for (let polls = 0; ;) {
      const token = this.store.newToken();
      const covers = flight.nextRound();
      let reply: Awaited<ReturnType<EntryStore['begin']>>;
      try {
        // Given up, it may still take the lease: nobody would store with it, and others would wait for it.
        const onLate = (): void => this.#giveUp(entryKey, token);
        reply = await budget.spend((deadline) =>
          this.store.begin(entryKey, token, Math.min(lease, maxHold), seenId, { deadline, onLate }),
        );
      } catch (error) {
        if (!isRedisFailure(error)) throw error;
        if (mayHaveRun(error)) this.#giveUp(entryKey, token);
        return { kind: 'offline' };
      }
      if (reply[0] === 1) return { kind: 'owner', token };
      if (reply[0] === 0) {
        const found = this.reader.judge(reply[1] ?? '', { stale: true });
        if (found.state === 'hit') return { kind: 'found', outcome: { ...found, covers, offline: false } };
        seenId = found.seenId;
      } else {
        if (reply[0] !== 2) return { kind: 'guest' };
        patience ??= Deadline.after(wait);
        if (patience.expired) return { kind: 'guest' };
        await sleep(Math.min(patience.remaining(), pollDelay(polls++)), flight.signal);
        budget.refill();
      }
    }
  }

  async #runFactory({ entryKey, factory, policy }: LoadRequest, turn: Turn, flight: Flight): Promise<Loaded> {
    const token = turn.kind === 'owner' ? turn.token : undefined;
    const times = { ...policy.options, deadline: this.options.operationTimeout };
    const stopKeeping = token === undefined ? undefined : keepLease(this.store, entryKey, token, times);
    const startedAt = performance.now();
    try {
      const context = new FactoryContext(flight, policy);
      const value = await factory(context);
      const skipped = context.skipped || (policy.skipIf?.(value as never) ?? false);
      const content = this.#encode(value, policy);
      const ttl = skipped || content === undefined ? 0 : policy.ttlOf(value, context.ttl);
      return { value, content, ttl, loadMs: Math.round(performance.now() - startedAt) };
    } catch (error) {
      if (token !== undefined) this.#giveUp(entryKey, token);
      throw error;
    } finally {
      stopKeeping?.();
    }
  }

  #encode(value: unknown, policy: CachePolicy): Content | undefined {
    try {
      return encodeContent(value);
    } catch (error) {
      this.options.onUncacheable(policy, error);
      return undefined;
    }
  }

  /**
   * Stores the value, or gives the lease back.
   *
   * @returns whether nothing can have invalidated the value since its load began
   */
  async #settle({ entryKey, budget }: LoadRequest, turn: Turn, loaded: Loaded): Promise<boolean> {
    if (turn.kind !== 'owner') return false;
    const { token } = turn;
    const { content, ttl, loadMs } = loaded;
    const abort = () => budget.spend((deadline) => this.store.abort(entryKey, token, { deadline }));
    try {
      if (content === undefined || ttl === 0) return await abort();
      const entry = { content, ttl, loadMs, version: '' };
      // Awaited in here: a commit that Redis refuses (out of memory) leaves the lease behind.
      return await budget
        .spend((deadline) => this.store.commit(entryKey, token, entry, { deadline }))
        .catch((error: unknown) => (isRedisFailure(error) ? abort() : Promise.reject(error as Error)));
    } catch (error) {
      // While Redis cannot be reached the promise holds in this process alone, where evictions detach the load.
      if (isRedisFailure(error)) return true;
      throw error;
    }
  }

  /** In the background: it only spares others a wait. */
  #giveUp(entryKey: string, token: string): void {
    this.store.abort(entryKey, token, { deadline: this.options.operationTimeout }).catch(() => {});
  }
}

function pollDelay(polls: number): number {
  return Math.min(LONGEST_POLL, FIRST_POLL * 2 ** Math.min(polls, 8)) * (0.5 + Math.random() / 2);
}
