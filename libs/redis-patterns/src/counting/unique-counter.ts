import {
  checkAt,
  checkNames,
  Series,
  type AtOptions,
  type BucketRange,
  type BucketRef,
  type Place,
  type ServerClock,
} from '../buckets/index.js';
import type { EngineContext } from '../connection/index.js';
import type { Key } from '../keys/index.js';
import { runScript } from '../scripting/index.js';
import { traceMethods, type PatternTracer } from '../telemetry/index.js';
import { UniqueEstimateError, UniqueStrategyError } from './counting.errors.js';
import type { ResolvedUniqueCounter } from './counting.options.js';
import { addScript, countScript, unionScript } from './scripts.generated.js';

/** How many different ids there are. */
export interface UniqueCount {
  readonly value: number;
  /** `false`: an estimate, with a standard error of 0.81 %. */
  readonly exact: boolean;
}

const PATTERN = 'unique';
const WHERE = 'UniqueCounter';
/** Ids of one script. */
const BATCH = 1000;
/** Ids that a script unites: some milliseconds of the server. */
const MOST_UNITED = 10_000;
/** Ids of one SSCAN. */
const PAGE = 1000;

/** One unique counter, as {@link UniqueCounterService.counter} gives it: light, to be kept or asked for each time. */
export class UniqueCounter {
  readonly #context: EngineContext;
  private readonly tracer: PatternTracer;
  readonly #series: Series;
  readonly #definition: ResolvedUniqueCounter;

  /** @internal */
  constructor(context: EngineContext, clock: ServerClock, name: Key, definition: ResolvedUniqueCounter) {
    const { bucket, tz } = definition;
    this.tracer = context.telemetry.tracer('counting', context.connection.name);
    this.#context = context;
    this.#series = new Series(context, clock, { pattern: PATTERN, name, bucket, tz, where: WHERE });
    this.#definition = definition;
    Object.freeze(this);
  }

  /**
   * Counts ids; one that was counted before changes nothing.
   *
   * @returns whether the count is another one now, as far as it knows: `false` also when a lost reply made it be asked twice
   * @throws UniqueStrategyError, InvalidOptionsError, RedisUnavailableError
   *
   * @example
   * ```ts
   * await visitors.add(userId);
   * ```
   */
  async add(...ids: string[]): Promise<boolean> {
    return this.addMany(ids);
  }

  /** {@link add} for a list of any length, 1000 in one script, and for a bucket by hand. */
  async addMany(ids: readonly string[], options: AtOptions = {}): Promise<boolean> {
    const at = checkAt(options, WHERE);
    checkNames(ids, WHERE, 'ids', Infinity);
    const { strategy, exactLimit, ttl } = this.#definition;
    let changed = false;
    for (let start = 0; start < ids.length; start += BATCH) {
      const batch = ids.slice(start, start + BATCH);
      const [state, more] = await this.#series.run(at, (place, deadline) => {
        const { from, to, end } = place;
        const args = [from, to, strategy, end, ttl, exactLimit, ...batch] as const;
        return runScript(this.#context.connection, addScript, this.#keys(place), [...args], { deadline });
      });
      if (state === 'strategy') throw new UniqueStrategyError();
      changed ||= more === 1;
    }
    return changed;
  }

  /** How many different ids were added. @param at another bucket than the present one: a moment in it, or its id */
  async count(at?: BucketRef): Promise<UniqueCount> {
    return this.#ask('', at);
  }

  /**
   * Whether an id was added.
   *
   * @throws UniqueEstimateError once the count is an estimate
   */
  async has(id: string, options: AtOptions = {}): Promise<boolean> {
    const at = checkAt(options, WHERE);
    checkNames([id], WHERE, 'id', 1);
    const { value, exact } = await this.#ask(id, at);
    if (!exact) throw new UniqueEstimateError();
    return value === 1;
  }

  /**
   * How many different ids were added in several buckets: one that came on three days counts once. Exact while all buckets are, and up to 10 000
   * ids in them together; with `strategy: 'set'` always, above that by reading all ids in pages.
   *
   * @example
   * ```ts
   * await visitors.countRange({ last: 7 });
   * await visitors.countRange({ from: '2026-11-01', to: '2026-11-30' });
   * ```
   */
  async countRange(range: BucketRange): Promise<UniqueCount> {
    const { strategy } = this.#definition;
    let places: Place[] = [];
    const [state, exact, value] = await this.#series.follow(
      () => (places = this.#series.places(range)),
      (all, deadline) => {
        const { from, to } = all.at(-1)!;
        const keys = all.map((place) => this.#keys(place));
        const both = [...keys.map(([set]) => set), ...keys.map(([, hll]) => hll)];
        const args = [from, to, strategy, MOST_UNITED] as const;
        return runScript(this.#context.connection, unionScript, both, [...args], { deadline });
      },
    );
    if (state === 'strategy') throw new UniqueStrategyError();
    if (state === 'ok') return { value, exact: exact === 1 };
    const ids = new Set<string>();
    for (const { key } of places) await this.#readAll(key, ids);
    return { value: ids.size, exact: true };
  }

  /** Drops the count. @returns whether there was one */
  async clear(options: AtOptions = {}): Promise<boolean> {
    return this.#series.drop(checkAt(options, WHERE), (place) => this.#keys(place));
  }

  async #ask(id: string, at: BucketRef | undefined): Promise<UniqueCount> {
    const { strategy } = this.#definition;
    const [state, exact, value] = await this.#series.run(at, (place, deadline) => {
      const args = [place.from, place.to, strategy, id] as const;
      return runScript(this.#context.connection, countScript, this.#keys(place), [...args], { deadline });
    });
    if (state === 'strategy') throw new UniqueStrategyError();
    return { value, exact: exact === 1 };
  }

  async #readAll(key: string, ids: Set<string>): Promise<void> {
    let cursor = '0';
    do {
      const from = cursor;
      const [next, page] = await this.#context.connection.run({
        name: 'counting.members',
        effect: 'read',
        key,
        send: (client) => client.sscan(key, from, 'COUNT', PAGE),
      });
      for (const id of page) ids.add(id);
      cursor = next;
    } while (cursor !== '0');
  }

  #keys({ key }: Place): [exact: string, estimate: string] {
    return [key, this.#context.keys.companion(PATTERN, 'hll', key)];
  }
}

traceMethods(UniqueCounter, ['addMany', 'count', 'has', 'countRange', 'clear']);
