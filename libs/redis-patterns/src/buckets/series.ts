import type { EngineContext } from '../connection/index.js';
import { checkOptionNames, Deadline, InvalidOptionsError } from '../core/index.js';
import { InvalidKeyError, missingInKey, type Key } from '../keys/index.js';
import { runScript } from '../scripting/index.js';
import type { BucketRange, BucketRef } from './bucket.options.js';
import { Calendar, type Bucket, type BucketUnit } from './calendar.js';
import { checkInteger } from './numbers.js';
import { dropScript } from './scripts.generated.js';
import type { ServerClock } from './server-clock.js';

/** Where a call goes, and what its script compares the time of Redis with: `to` is 0 when the caller named the bucket. */
export interface Place {
  readonly key: string;
  /** `undefined` for a structure without buckets. */
  readonly bucket: Bucket | undefined;
  readonly from: number;
  readonly to: number;
  /** End of the bucket, 0 without one. */
  readonly end: number;
}

/** Replies of scripts that compare the time. */
type Outside = readonly [state: 'moved', now: string] | readonly [state: 'expired'];

/** How a series is made. */
export interface SeriesDefinition {
  readonly pattern: string;
  readonly name: Key;
  readonly bucket: BucketUnit | undefined;
  readonly tz: string;
  /** Class and method, for errors. */
  readonly where: string;
}

/** Most buckets of one range. */
const MOST_BUCKETS = 400;
/** Years that ids have four digits for. */
const LATEST = Date.UTC(9999, 0, 1);

/**
 * One name and its keys: a single one, or one for each bucket. Whose turn it is decides the clock of Redis, so that all processes write
 * to one bucket at any one moment, whatever their own clocks show.
 */
export class Series {
  /** The key, or what the keys of all buckets begin with; it is in their slot. */
  readonly root: string;
  readonly #calendar: Calendar | undefined;

  constructor(
    private readonly context: EngineContext,
    private readonly clock: ServerClock,
    private readonly definition: SeriesDefinition,
  ) {
    const { pattern, name, bucket, tz } = definition;
    checkName(name);
    this.root = bucket === undefined ? context.keys.main(pattern, name) : context.keys.series(pattern, name);
    this.#calendar = bucket === undefined ? undefined : new Calendar(bucket, tz);
  }

  /**
   * Runs a script where the call belongs, and again when Redis says that another bucket is the present one.
   *
   * @param send runs the script; the deadline is `undefined` at first
   * @throws InvalidOptionsError for an `at` that does not fit, and for a bucket whose keys have expired
   */
  async run<Reply extends readonly unknown[]>(
    at: BucketRef | undefined,
    send: (place: Place, deadline: number | undefined) => Promise<Reply>,
  ): Promise<Exclude<Reply, Outside>> {
    return this.follow(
      () => this.place(at),
      (place, deadline) => send(place, deadline),
    );
  }

  /** {@link run} for a call about several places, of which the last may be the present one. */
  async follow<Where, Reply extends readonly unknown[]>(
    locate: () => Where,
    send: (where: Where, deadline: number | undefined) => Promise<Reply>,
  ): Promise<Exclude<Reply, Outside>> {
    const deadline = Deadline.after(this.context.connection.commandTimeout);
    for (let first = true; ; first = false) {
      const reply = await send(locate(), first ? undefined : deadline.remaining());
      if (reply[0] === 'moved') this.clock.learn(Number(reply[1]));
      else if (reply[0] === 'expired') {
        this.#refuse('at', 'names a bucket that has expired already; give a longer ttl, or a later bucket');
      } else return reply as Exclude<Reply, Outside>;
    }
  }

  /** @throws InvalidOptionsError */
  place(at: BucketRef | undefined): Place {
    if (this.#calendar === undefined) {
      if (at !== undefined) this.#refuse('at', "names a bucket, but there are none; give the option 'bucket'");
      return { key: this.root, bucket: undefined, from: 0, to: 0, end: 0 };
    }
    const bucket = at === undefined ? this.#calendar.at(this.clock.now()) : this.#named(this.#calendar, at, 'at');
    const { start, end } = bucket;
    return { key: `${this.root}:${bucket.id}`, bucket, from: start, to: at === undefined ? end : 0, end };
  }

  /**
   * The places of a range, in order.
   *
   * @throws InvalidOptionsError also when there are more than 400
   */
  places(range: BucketRange): Place[] {
    const calendar = this.#calendar;
    if (calendar === undefined) return this.#refuse('bucket', 'is needed for a range');
    checkOptionNames(range, ['from', 'to', 'last'], this.definition.where);
    const present = this.place(undefined);
    const { last, from, to } = range;
    if (last !== undefined && (from !== undefined || to !== undefined))
      this.#refuse('last', "is no range together with 'from' or 'to'");
    if (last !== undefined) checkInteger(last, this.definition.where, 'last', 1, MOST_BUCKETS);
    else if (from === undefined) this.#refuse('from', 'is required; or give { last: 7 } for the last seven buckets');
    const end = to === undefined ? present.bucket! : this.#named(calendar, to, 'to');
    const places: Place[] = [];
    const start = from === undefined ? -Infinity : this.#named(calendar, from, 'from').start;
    if (start > end.start) this.#refuse('from', 'is after the end of the range');
    for (let bucket = end; bucket.start >= start && places.length < (last ?? Infinity);) {
      if (places.length === MOST_BUCKETS)
        this.#refuse('from', `is more than ${MOST_BUCKETS} buckets before the end; take a larger unit`);
      places.push({ key: `${this.root}:${bucket.id}`, bucket, from: 0, to: 0, end: bucket.end });
      bucket = calendar.at(bucket.start - 1);
    }
    places.reverse();
    // An end that was not named is the present one, whichever Redis says that this is.
    return to === undefined ? places.with(-1, present) : places;
  }

  /** Drops all keys of a structure: those that `keysOf` names. */
  async drop(at: BucketRef | undefined, keysOf: (place: Place) => readonly string[]): Promise<boolean> {
    const [, dropped] = await this.run(at, (place, deadline) =>
      runScript(this.context.connection, dropScript, [...keysOf(place)], [place.from, place.to], { deadline }),
    );
    return dropped > 0;
  }

  #named(calendar: Calendar, at: BucketRef, path: string): Bucket {
    const { unit } = calendar;
    if (typeof at === 'string') {
      return (
        calendar.parse(at) ?? this.#refuse(path, `is no ${unit}; give a Date, or an id such as '${EXAMPLES[unit]}'`)
      );
    }
    const ms = at instanceof Date ? at.getTime() : NaN;
    if (!(ms >= 0 && ms < LATEST)) this.#refuse(path, 'must be a Date from 1970 on, or the id of a bucket');
    return calendar.at(ms);
  }

  #refuse(path: string, message: string): never {
    throw new InvalidOptionsError(this.definition.where, [{ path, message }]);
  }
}

/** @throws InvalidKeyError for a name with nothing in one of its parts: it would be one structure for everybody */
export function checkName(name: Key): void {
  const lack = missingInKey(name);
  if (lack !== undefined)
    throw new InvalidKeyError(`the name ${lack}; give a text, or an array with something in each part`);
}

const EXAMPLES: Readonly<Record<BucketUnit, string>> = {
  hour: '2026-11-30T14',
  day: '2026-11-30',
  week: '2026-W49',
  month: '2026-11',
};
