import {
  checkAt,
  checkInteger,
  exactNumber,
  NumberRangeError,
  OPERATION_TTL,
  operationKeys,
  Series,
  type AtOptions,
  type BucketRange,
  type OperationOptions,
  type ServerClock,
} from '../buckets/index.js';
import type { EngineContext } from '../connection/index.js';
import { checkOptionNames } from '../core/index.js';
import type { Key } from '../keys/index.js';
import { runScript } from '../scripting/index.js';
import { traceMethods, type PatternTracer } from '../telemetry/index.js';
import type { ResolvedCounter } from './counting.options.js';
import { incrScript, readScript } from './scripts.generated.js';

/** The count of one bucket. */
export interface BucketCount {
  /** Id of the bucket, such as `'2026-11-30'`. */
  readonly bucket: string;
  readonly start: Date;
  readonly value: number;
}

const PATTERN = 'counter';
const WHERE = 'Counter';

/** One counter, as {@link CounterService.counter} gives it: light, to be kept or asked for each time. */
export class Counter {
  readonly #context: EngineContext;
  private readonly tracer: PatternTracer;
  readonly #series: Series;
  readonly #ttl: number;

  /** @internal */
  constructor(context: EngineContext, clock: ServerClock, name: Key, { bucket, tz, ttl }: ResolvedCounter) {
    this.tracer = context.telemetry.tracer('counting', context.connection.name);
    this.#context = context;
    this.#series = new Series(context, clock, { pattern: PATTERN, name, bucket, tz, where: WHERE });
    this.#ttl = ttl;
    Object.freeze(this);
  }

  /**
   * Adds to the counter, at most once: what may have arrived is not sent again. With an `opId` that is repeated within 10 minutes exactly once; the
   * result is that of the first time.
   *
   * @param by an integer, 1 by default
   * @returns the new count
   * @throws NumberRangeError when it would leave ±(2^53 − 1); it then stays what it was
   * @throws InvalidOptionsError, RedisUnavailableError (`outcome` says whether it may have been counted)
   */
  async incr(by = 1, options: AtOptions & OperationOptions = {}): Promise<number> {
    checkOptionNames(options, ['at', 'opId'], WHERE);
    const { at, opId } = options;
    checkInteger(by, WHERE, 'by', Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    const { keys, connection } = this.#context;
    const operation = operationKeys(keys, PATTERN, this.#series.root, opId, WHERE);
    const effect = opId === undefined ? 'once' : 'token';
    const [state, count] = await this.#series.run(at, ({ key, from, to, end }, deadline) =>
      runScript(connection, incrScript, [key, ...operation], [from, to, end, this.#ttl, by, OPERATION_TTL], {
        effect,
        deadline,
        // Who wants it exactly once has it asked for again after a lost reply, which takes a connection.
        wait: opId !== undefined,
      }),
    );
    if (state === 'range') throw new NumberRangeError('the count');
    return Number(count);
  }

  /** The count; 0 for one that never counted, or has expired. */
  async get(options: AtOptions = {}): Promise<number> {
    const [, text] = await this.#series.run(checkAt(options, WHERE), ({ key, from, to }, deadline) =>
      runScript(this.#context.connection, readScript, [key], [from, to], { deadline }),
    );
    return toCount(text);
  }

  /**
   * The counts of several buckets, in order, those without a count as 0.
   *
   * @example
   * ```ts
   * await views.range({ last: 7 }); // [{ bucket: '2026-11-24', start: Date, value: 12 }, …]
   * ```
   */
  async range(range: BucketRange): Promise<BucketCount[]> {
    const [places, counts] = await this.#series.follow(
      () => this.#series.places(range),
      async (all, deadline) => {
        const { from, to } = all.at(-1)!;
        const keys = all.map(({ key }) => key);
        const reply = await runScript(this.#context.connection, readScript, keys, [from, to], { deadline });
        return reply[0] === 'moved' ? reply : ([all, reply.slice(1) as (string | null)[]] as const);
      },
    );
    return places.map(({ bucket }, n) => {
      const { id, start } = bucket!;
      return { bucket: id, start: new Date(start), value: toCount(counts[n]) };
    });
  }

  /** Drops the counter. @returns whether there was one */
  async clear(options: AtOptions = {}): Promise<boolean> {
    return this.#series.drop(checkAt(options, WHERE), ({ key }) => [key]);
  }
}

traceMethods(Counter, ['incr', 'get', 'range', 'clear']);

function toCount(text: string | null | undefined): number {
  return exactNumber(text ?? '0', 'the count');
}
