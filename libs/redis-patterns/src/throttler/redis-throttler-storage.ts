import { RedisUnavailableError, type EngineContext } from '../connection/index.js';
import { RateLimitUnavailableError, StoreFailureReporter } from '../rate-limit/index.js';
import { runScript } from '../scripting/index.js';
import type { PatternTracer } from '../telemetry/index.js';
import { checkedHit } from './checked-hit.js';
import { hitScript } from './scripts.generated.js';
import { traceHits } from './traced-hits.js';
import type { LocalStorage, ThrottlerHit, ThrottlerRecord, ThrottlerStoreOptions } from './throttler.types.js';

const FIELDS = 4;

/** A hit, and where it is counted. */
interface PlacedHit {
  readonly hit: ThrottlerHit;
  readonly redisKey: string;
}

/** What became of a hit. `at` is by which it can be taken back; none when Redis did not count it. */
interface Outcome {
  readonly record: ThrottlerRecord;
  readonly at?: number;
}

/**
 * The counts of `@nestjs/throttler` in Redis, shared by all processes: its `ThrottlerStorage`. A limit is exact: at most `limit` hits in
 * any time of `ttl`, by the clock of the server. Refused hits are not counted, and a block that is over begins the count anew. One round
 * trip for a hit, decided within `rateLimit.deadline` (100 ms); without Redis `rateLimit.onStoreError` decides.
 *
 * Given by `RedisThrottlerModule`.
 *
 * @example
 * ```ts
 * ThrottlerModule.forRootAsync({
 *   imports: [RedisThrottlerModule],
 *   inject: [RedisThrottlerStorage],
 *   useFactory: (storage: RedisThrottlerStorage) => ({ throttlers: [{ ttl: 60_000, limit: 10 }], storage }),
 * })
 * ```
 */
export class RedisThrottlerStorage {
  readonly #failure: StoreFailureReporter;
  readonly #tracer: PatternTracer;

  /** Called by `RedisThrottlerModule`, which knows the connection. */
  constructor(
    private readonly context: EngineContext,
    private readonly options: ThrottlerStoreOptions,
    private readonly local: LocalStorage,
  ) {
    this.#tracer = context.telemetry.tracer('throttler', context.connection.name);
    this.#failure = new StoreFailureReporter(
      context.telemetry,
      'Throttler',
      `Redis does not count hits within ${options.deadline} ms; until it does, 'rateLimit.onStoreError' decides.`,
    );
  }

  /**
   * Counts one hit; what the guard of `@nestjs/throttler` calls.
   *
   * @throws InvalidOptionsError for a limit or time that cannot work
   * @throws RateLimitUnavailableError (503) when Redis cannot decide and `onStoreError` is `'closed'`
   * @throws RedisCommandError when Redis calls the script wrong (missing rights, for example)
   */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerRecord> {
    const placed = this.#place({ key, ttl, limit, blockDuration, throttlerName });
    if (placed.hit.limit === Infinity) return admitted();
    const [outcome] = await this.#count([placed]);
    return outcome!.record;
  }

  /**
   * Counts a hit for each of several limits, or for none of them if one has no room. Limits of one `key` are one script; different keys
   * are asked at the same time, and what was counted is taken back when another one refuses.
   *
   * @returns a record for each hit, in their order
   * @throws as {@link increment}
   */
  async incrementAll(hits: readonly ThrottlerHit[]): Promise<ThrottlerRecord[]> {
    const outcomes = new Map<PlacedHit, Outcome>();
    const groups = new Map<string, PlacedHit[]>();
    const placed = hits.map((hit) => this.#place(hit));
    for (const each of placed) {
      const { key, limit } = each.hit;
      if (limit === Infinity) outcomes.set(each, { record: admitted() });
      else groups.set(key, [...(groups.get(key) ?? []), each]);
    }
    const counted = [...groups.values()].map(async (group) => {
      const found = await this.#count(group);
      group.forEach((each, index) => outcomes.set(each, found[index]!));
    });
    await Promise.all(counted);
    if (groups.size > 1) await this.#takeBackIfRefused([...groups.values()], outcomes);
    return placed.map((each) => outcomes.get(each)!.record);
  }

  /** Ends what counts in memory. Called by Nest. */
  onApplicationShutdown(): void {
    this.local.onApplicationShutdown?.();
  }

  /** The key is the tag, so that limits of one key share a slot. `~` is in no name of a policy, whose keys are beside these. */
  #place(given: ThrottlerHit): PlacedHit {
    const hit = checkedHit(given);
    return { hit, redisKey: this.context.keys.tagged('ratelimit', `throttler~${hit.throttlerName}`, hit.key) };
  }

  /** What became of each hit. */
  #count(group: readonly PlacedHit[]): Promise<Outcome[]> {
    if (!this.#tracer.active) return this.#ask(group);
    const names = group.map(({ hit }) => hit.throttlerName);
    return traceHits(this.#tracer, names, this.options.onStoreError, () => this.#ask(group));
  }

  /** On the path of every request: nothing is copied. */
  async #ask(group: readonly PlacedHit[]): Promise<Outcome[]> {
    const keys: string[] = [];
    const args: number[] = [];
    for (const { hit, redisKey } of group) {
      keys.push(redisKey);
      args.push(hit.limit, hit.ttl, hit.blockDuration);
    }
    try {
      const reply = await runScript(this.context.connection, hitScript, keys, args, {
        deadline: this.options.deadline,
      });
      this.#failure.over();
      return group.map((_, index) => fromReply(reply, index * FIELDS));
    } catch (error) {
      if (!(error instanceof RedisUnavailableError)) throw error;
      return Promise.all(group.map(async ({ hit }) => ({ record: await this.#withoutStore(hit, error) })));
    }
  }

  async #takeBackIfRefused(groups: readonly PlacedHit[][], outcomes: Map<PlacedHit, Outcome>): Promise<void> {
    const refused = (hit: PlacedHit): boolean => outcomes.get(hit)!.record.isBlocked;
    if (!groups.some((group) => group.some(refused))) return;
    const counted = groups.filter((group) => !group.some(refused) && outcomes.get(group[0]!)!.at !== undefined);
    await Promise.all(counted.map((group) => this.#takeBack(group, outcomes)));
  }

  async #takeBack(group: readonly PlacedHit[], outcomes: Map<PlacedHit, Outcome>): Promise<void> {
    for (const hit of group) outcomes.get(hit)!.record.totalHits--;
    try {
      await this.context.connection.run({
        name: 'throttler.take-back',
        effect: 'once',
        key: group[0]!.redisKey,
        deadline: this.options.deadline,
        send: (client) => Promise.all(group.map((hit) => client.lrem(hit.redisKey, -1, outcomes.get(hit)!.at!))),
      });
    } catch (error) {
      // One hit too many is counted until its ttl is over; the call is refused all the same.
      if (!(error instanceof RedisUnavailableError)) throw error;
    }
  }

  async #withoutStore(
    { key, ttl, limit, blockDuration, throttlerName }: ThrottlerHit,
    cause: Error,
  ): Promise<ThrottlerRecord> {
    this.#failure.report();
    const { onStoreError, localShare } = this.options;
    if (onStoreError === 'closed') throw new RateLimitUnavailableError(throttlerName, cause);
    if (onStoreError === 'open') return admitted();
    // A share below one hit would refuse everybody. The storage in memory keeps one block for a key, whatever the name.
    const share = limit === 0 ? 0 : Math.max(1, Math.floor(limit * localShare));
    return this.local.increment(`${throttlerName}:${key}`, ttl, share, blockDuration, throttlerName);
  }
}

function admitted(): ThrottlerRecord {
  return { totalHits: 0, timeToExpire: 0, isBlocked: false, timeToBlockExpire: 0 };
}

/** @param from where the fields of a hit begin */
function fromReply(reply: readonly number[], from: number): Outcome {
  const isBlocked = reply[from] === 1;
  const seconds = Math.max(1, Math.ceil(reply[from + 2]! / 1000));
  const record = {
    totalHits: reply[from + 1]!,
    timeToExpire: seconds,
    isBlocked,
    timeToBlockExpire: isBlocked ? seconds : 0,
  };
  return { record, at: reply[from + 3]! };
}
