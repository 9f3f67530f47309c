import type { CachePolicy } from './cache-policy.js';
import type { CacheTracer } from './cache-tracer.js';
import type { CacheCounters } from './cache-stats.js';
import type { Encoder } from './encoder.js';
import type { Content } from './entry.js';
import type { EntryReader, FoundValue } from './entry-reader.js';
import type { EntryStore, NewEntry } from './entry-store.js';
import type { Flight, Flights, LoadOutcome } from './flights.js';
import { LeaseKeeper } from './lease-keeper.js';
import { FactoryContext, type CacheFactory } from './load-context.js';
import { failureContent } from './load-failure.js';
import { withTimeout } from './load-timeout.js';
import { isRedisFailure } from './redis-failure.js';
import { unchanged } from './tag-store.js';
import { formatTags, unionOfTags, type TagNames } from './tags.js';
import type { TimeBudget } from './time-budget.js';
import { Turns, type Ownership, type Turn } from './turn.js';

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
  /** What the caller can answer with, so that this is a refresh: one that fails is not tried again for a while. */
  readonly copy?: FoundValue | undefined;
  /** Called when the factory is not run, or not yet. */
  readonly onWait?: (() => void) | undefined;
}

export interface LoaderOptions {
  /** Milliseconds. */
  readonly operationTimeout: number;
  readonly encoder: Encoder;
  readonly counters: CacheCounters;
  readonly tracer: CacheTracer;
}

/** What a factory has made. */
interface Loaded {
  readonly value: unknown;
  /** `undefined` for what cannot be copied. */
  readonly content: Content | undefined;
  readonly storable: boolean;
  readonly freshMs: number;
  readonly staleMs: number;
  readonly loadMs: number;
  /** Beside those of the policy. */
  readonly tags: TagNames;
}

/**
 * Loads missing values: takes the lease, runs the factory, and stores what it gave if nothing has taken the lease away
 * meanwhile (leases as in Nishtala et al., "Scaling Memcache at Facebook", NSDI 2013).
 */
export class Loader {
  readonly #turns: Turns;
  readonly #leases: LeaseKeeper;

  constructor(
    private readonly store: EntryStore,
    reader: EntryReader,
    private readonly flights: Flights,
    private readonly options: LoaderOptions,
  ) {
    this.#turns = new Turns(store, reader, options.operationTimeout);
    this.#leases = new LeaseKeeper(store, options.operationTimeout);
  }

  start(request: LoadRequest): Flight {
    const { entryKey, policy } = request;
    const tags = policy.resultTags === undefined ? policy.tags : 'unknown';
    return this.flights.start(entryKey, (flight) => this.#load(request, flight), tags);
  }

  async #load(request: LoadRequest, flight: Flight): Promise<LoadOutcome> {
    const turn: Turn = request.offline ? { kind: 'offline' } : await this.#turns.take(request, flight);
    if (turn.kind === 'found') {
      request.onWait?.();
      const { value, entry } = turn.found;
      return { value, content: entry.content, covers: turn.covers, offline: false };
    }
    if (turn.kind === 'failed') {
      request.onWait?.();
      const { failure, covers } = turn;
      return { value: undefined, content: undefined, covers, offline: false, failure };
    }
    const present = flight.nextRound();
    const loaded = await this.#runFactory(request, turn, flight);
    // Before the deciding commands are written: who comes later than that would not be covered by their answers.
    this.flights.leave(request.entryKey, flight);
    const covered = turn.kind === 'owner' && (await this.#settle(request, turn, loaded, flight));
    const { value, content } = loaded;
    return { value, content, covers: covered ? Infinity : present, offline: turn.kind === 'offline' };
  }

  async #runFactory(request: LoadRequest, turn: Turn, flight: Flight): Promise<Loaded> {
    const { entryKey, factory, policy, copy } = request;
    const { counters } = this.options;
    const lease = turn.kind === 'owner' ? this.#leases.keep(entryKey, turn.token, policy.options) : undefined;
    const startedAt = performance.now();
    counters.loads++;
    try {
      const context = new FactoryContext(flight, policy, copy?.entry.content);
      const make = (): unknown => this.flights.waits.run([flight], () => factory(context));
      const value = await this.options.tracer.load(policy.name, async () => withTimeout(make(), policy, flight));
      const loadMs = Math.round(performance.now() - startedAt);
      const skipped = context.skipped || (policy.skipIf?.(value as never) ?? false);
      const encoded = this.options.encoder.tryEncode(value, policy.name);
      const { fresh, stale } = policy.lifetimeOf(value, context.ttl);
      const storable = !skipped && fresh > 0 && encoded?.storable === true;
      const tags = resultTags(value, policy, context);
      return { value, content: encoded?.content, storable, freshMs: fresh, staleMs: stale, loadMs, tags };
    } catch (error) {
      counters.loadErrors++;
      if (turn.kind === 'owner') await this.#settleError(request, turn, error, flight);
      throw error;
    } finally {
      lease?.stop();
    }
  }

  /** Stores what is to be remembered of the factory's error, as a value would be, or gives the lease back. Never throws. */
  async #settleError(request: LoadRequest, owned: Ownership, error: unknown, flight: Flight): Promise<void> {
    const { entryKey, policy, copy, budget } = request;
    // A former value is better than an error, and whoever ended the load did not learn what the factory would have done.
    const isAnswer = copy === undefined && !owned.unseen && !flight.aborted;
    const freshMs = isAnswer ? this.#errorTtl(error, policy) : 0;
    if (freshMs === 0) return this.#turns.giveUp(entryKey, owned.token, backoffOf(request));
    this.flights.leave(entryKey, flight);
    const tags = formatTags(policy.tags, owned.tagTokens);
    const content = failureContent(error, policy.values);
    const entry = { content, loadMs: 0, freshMs, staleMs: 0, version: '', tags };
    await budget
      .spend((deadline) => this.store.commit(entryKey, owned.token, entry, { deadline }))
      .catch(() => this.#turns.giveUp(entryKey, owned.token, 0));
  }

  #errorTtl(error: unknown, policy: CachePolicy): number {
    try {
      return policy.errorTtl(error);
    } catch (problem) {
      // The caller is to see the error of the factory, not this one.
      const message = `'cacheErrors' of ${policy.name} has failed, so that an error is not remembered: ${String(problem)}`;
      this.options.encoder.warnOnce(policy.name, 'ERR_CACHE_LOAD_FAILED', message);
      return 0;
    }
  }

  /**
   * Stores the value, or gives the lease back.
   *
   * @returns whether nothing can have invalidated the value since its load began
   */
  async #settle(request: LoadRequest, owned: Ownership, loaded: Loaded, flight: Flight): Promise<boolean> {
    const { entryKey } = request;
    try {
      const tagged =
        loaded.tags.length === 0
          ? { tags: request.policy.tags, tokens: owned.tagTokens }
          : await this.#tagsOf(request, owned, loaded);
      if (tagged === undefined || loaded.content === undefined || !loaded.storable) {
        const [held, valid] = await Promise.all([
          this.#abort(request, owned),
          this.#stillValid(request, tagged, flight),
        ]);
        return tagged !== undefined && held && valid;
      }
      const { content, loadMs, freshMs, staleMs } = loaded;
      const { tags, tokens } = tagged;
      const entry = { content, loadMs, freshMs, staleMs, version: '', tags: formatTags(tags, tokens) };
      const stored = this.#commit(request, owned, entry);
      if (tags.length === 0) return await stored;
      const [held, valid] = await Promise.all([stored, this.#stillValid(request, tagged, flight)]);
      return held && valid;
    } catch (error) {
      if (!isRedisFailure(error)) throw error;
      this.#turns.giveUp(entryKey, owned.token, 0);
      // While Redis cannot be reached the promise holds in this process alone, where evictions detach the load.
      return true;
    }
  }

  /** @returns whether the lease was held until the entry was stored */
  async #commit(request: LoadRequest, owned: Ownership, entry: NewEntry): Promise<boolean> {
    const { entryKey, budget } = request;
    const sentAt = performance.now();
    let stored: boolean;
    try {
      stored = await this.store.commit(entryKey, owned.token, entry, budget);
    } catch (error) {
      if (!isRedisFailure(error)) throw error;
      budget.charge(sentAt);
      // A commit that Redis refuses (out of memory) leaves the lease behind.
      return this.#abort(request, owned);
    }
    budget.charge(sentAt);
    this.options.counters[stored ? 'stored' : 'fenced']++;
    return stored;
  }

  /** @returns whether the lease was held */
  #abort(request: LoadRequest, { token }: Ownership): Promise<boolean> {
    const { entryKey, budget } = request;
    return budget.spend((deadline) => this.store.abort(entryKey, token, backoffOf(request), { deadline }));
  }

  /**
   * All tags of the entry and their tokens. `undefined` when one that was not known before the factory may have been invalidated
   * while that ran.
   */
  async #tagsOf({ policy, budget }: LoadRequest, owned: Ownership, { tags }: Loaded) {
    const declared = { tags: policy.tags, tokens: owned.tagTokens };
    const added = tags.filter((tag) => !policy.tags.includes(tag));
    if (added.length === 0) return declared;
    const addedTokens = await budget.spend((deadline) => this.store.tags.take(added, { deadline }));
    // Not in one flush with that: whoever invalidates writes the generation first, so it must be read last.
    const generations = await budget.spend((deadline) => this.store.tags.generations({ deadline }));
    if (!unchanged(added, owned.generations, generations)) return undefined;
    const all = unionOfTags(policy.tags, added);
    const tokenOf = (tag: string) => owned.tagTokens[policy.tags.indexOf(tag)] ?? addedTokens[added.indexOf(tag)]!;
    return { tags: all, tokens: all.map(tokenOf) };
  }

  /** Whether the tags are what they were, for callers who joined while the factory ran. */
  async #stillValid(
    { budget, copy }: LoadRequest,
    tagged: { tags: TagNames; tokens: readonly string[] } | undefined,
    flight: Flight,
  ): Promise<boolean> {
    if (tagged === undefined || tagged.tags.length === 0) return true;
    if (flight.waits < 2 && copy === undefined) return true;
    const now = await budget.spend((deadline) => this.store.tags.read(tagged.tags, { deadline }));
    return now.every((token, index) => token === tagged.tokens[index]);
  }
}

function resultTags(value: unknown, policy: CachePolicy, context: FactoryContext): TagNames {
  if (typeof policy.resultTags !== 'function') return context.tags;
  return unionOfTags(context.tags, policy.parseResultTags(policy.resultTags(value as never), 'resultTags'));
}

function backoffOf({ copy, policy }: LoadRequest): number {
  return copy === undefined ? 0 : policy.options.failBackoff;
}
