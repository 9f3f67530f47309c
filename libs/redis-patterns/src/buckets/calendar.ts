/** A span of the calendar. */
export type BucketUnit = 'hour' | 'day' | 'week' | 'month';

/** One span: its name as it stands in keys, and its ends in milliseconds since 1970, the second one exclusive. */
export interface Bucket {
  readonly id: string;
  readonly start: number;
  readonly end: number;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;
/** More than any time zone is away from UTC. */
const FARTHEST = 26 * HOUR;

/** More than clocks are put back by (Antarctica/Troll: 2 h). */
const LONGEST_SHIFT = 3 * HOUR;

/** What the ids of a unit look like; weeks are those of ISO 8601. */
const FORMS: Readonly<Record<BucketUnit, RegExp>> = {
  hour: /^\d{4}-\d\d-\d\dT\d\d$/,
  day: /^\d{4}-\d\d-\d\d$/,
  week: /^(\d{4})-W(\d\d)$/,
  month: /^\d{4}-\d\d$/,
};

/**
 * The buckets of a unit in a time zone. A day is what the clocks there call a day: 23 or 25 hours when they are changed. Of an hour
 * that they show twice both halves are one bucket, with what lies between them.
 *
 * @example
 * ```ts
 * new Calendar('day', 'Europe/Berlin').at(Date.UTC(2026, 9, 25)); // { id: '2026-10-25', … }, 25 hours
 * ```
 */
export class Calendar {
  readonly #clock: Intl.DateTimeFormat | undefined;
  /** Most calls are about the same bucket as the one before. */
  #last: Bucket | undefined;

  /** @param tz name in the IANA database; must exist */
  constructor(
    readonly unit: BucketUnit,
    tz: string,
  ) {
    this.#clock = tz === 'UTC' ? undefined : zoneClock(tz);
  }

  /** The bucket of a moment. */
  at(ms: number): Bucket {
    const last = this.#last;
    if (last !== undefined && ms >= last.start && ms < last.end) return last;
    let wall = floor(this.unit, this.#wall(ms));
    let bucket = this.#bucket(wall);
    // Clocks that are put back over the end of a bucket show its last minutes again, when the next one has begun.
    while (ms >= bucket.end) bucket = this.#bucket((wall = next(this.unit, wall)));
    return (this.#last = bucket);
  }

  /** The bucket with an id; `undefined` when there is none, as for an hour that is left out when clocks are put forward. */
  parse(id: string): Bucket | undefined {
    if (!FORMS[this.unit].test(id)) return undefined;
    const wall = floor(this.unit, this.unit === 'week' ? weekStart(id) : Date.parse(`${timeOf(id)}Z`));
    if (Number.isNaN(wall) || idOf(this.unit, wall) !== id) return undefined;
    const bucket = this.#bucket(wall);
    return bucket.start < bucket.end ? bucket : undefined;
  }

  #bucket(wall: number): Bucket {
    return {
      id: idOf(this.unit, wall),
      start: this.#begin(wall),
      end: this.#begin(next(this.unit, wall)),
    };
  }

  /** What the clocks of the zone show, as if it were UTC. */
  #wall(ms: number): number {
    if (this.#clock === undefined) return ms;
    const part: Record<string, number> = {};
    for (const { type, value } of this.#clock.formatToParts(ms)) part[type] = Number(value);
    return Date.UTC(part.year!, part.month! - 1, part.day, part.hour, part.minute, part.second);
  }

  /** The first moment at which the clocks of the zone show this or later. They are only ever changed at whole seconds. */
  #begin(wall: number): number {
    if (this.#clock === undefined) return wall;
    let before = (wall - FARTHEST) / 1000;
    let after = (wall + FARTHEST) / 1000;
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (floor(this.unit, this.#wall(middle * 1000)) >= wall) after = middle;
      else before = middle;
    }
    const found = after * 1000;
    // If the clocks were put back shortly before, they may have shown it already.
    const offset = this.#wall(found - LONGEST_SHIFT) - (found - LONGEST_SHIFT);
    const earlier = wall - offset;
    return earlier < found && floor(this.unit, this.#wall(earlier)) >= wall ? earlier : found;
  }
}

/** Whether the runtime knows a time zone of that name. */
export function isTimeZone(tz: unknown): tz is string {
  if (typeof tz !== 'string') return false;
  try {
    zoneClock(tz);
    return true;
  } catch {
    return false;
  }
}

function zoneClock(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
}

function floor(unit: BucketUnit, wall: number): number {
  switch (unit) {
    case 'hour':
      return Math.floor(wall / HOUR) * HOUR;
    case 'day':
      return Math.floor(wall / DAY) * DAY;
    case 'week':
      // 1970 began on a Thursday, three days after a Monday.
      return Math.floor((wall + 3 * DAY) / WEEK) * WEEK - 3 * DAY;
    case 'month': {
      const date = new Date(wall);
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
    }
  }
}

function next(unit: BucketUnit, wall: number): number {
  if (unit !== 'month') return wall + { hour: HOUR, day: DAY, week: WEEK }[unit];
  const date = new Date(wall);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

function idOf(unit: BucketUnit, wall: number): string {
  if (unit !== 'week') return new Date(wall).toISOString().slice(0, { hour: 13, day: 10, month: 7 }[unit]);
  // A week belongs to the year of its Thursday.
  const thursday = new Date(wall + 3 * DAY);
  const year = thursday.getUTCFullYear();
  const week = Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / WEEK) + 1;
  return `${year}-W${String(week).padStart(2, '0')}`;
}

function weekStart(id: string): number {
  const [, year, week] = FORMS.week.exec(id)!;
  // The 4th of January is always in the first week.
  return Date.UTC(Number(year), 0, 4) + (Number(week) - 1) * WEEK;
}

/** An id as the beginning of a time that Date.parse reads. */
function timeOf(id: string): string {
  return id.length === 7 ? `${id}-01T00:00` : id.length === 10 ? `${id}T00:00` : `${id}:00`;
}
