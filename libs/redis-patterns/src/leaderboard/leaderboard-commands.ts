import {
  exactNumber,
  NumberRangeError,
  OPERATION_TTL,
  operationKeys,
  Series,
  type BucketRef,
  type Place,
  type ServerClock,
} from '../buckets/index.js';
import type { EngineContext } from '../connection/index.js';
import type { Key } from '../keys/index.js';
import { runScript } from '../scripting/index.js';
import type { PatternTracer } from '../telemetry/index.js';
import type { ResolvedLeaderboard } from './leaderboard.options.js';
import { ranksScript, removeScript, sliceScript, submitScript } from './scripts.generated.js';

/** A member as a script tells of it: its data still as text. */
export interface RawEntry {
  readonly member: string;
  readonly score: number;
  readonly rank: number;
  readonly position: number;
  readonly data: string | null;
}

/** What one score came to; the rank is 0 when it is not on the board. */
export interface RawResult {
  readonly changed: boolean;
  readonly score: number;
  readonly rank: number;
}

type BoardKeys = [board: string, members: string, datas: string, scores: string, counts: string];

const PATTERN = 'leaderboard';

/** What one board says to Redis. */
export class LeaderboardCommands {
  readonly #series: Series;
  readonly tracer: PatternTracer;
  /** Most calls are about the same bucket as the one before. */
  #last: BoardKeys | undefined;

  constructor(
    private readonly context: EngineContext,
    clock: ServerClock,
    name: Key,
    private readonly definition: ResolvedLeaderboard,
    private readonly ttl: number,
    private readonly where: string,
  ) {
    this.tracer = context.telemetry.tracer(PATTERN, context.connection.name);
    const { bucket, tz } = definition;
    this.#series = new Series(context, clock, { pattern: PATTERN, name, bucket, tz, where });
  }

  /** @param entries member, score and data in turn */
  async submit(
    entries: readonly string[],
    update: ResolvedLeaderboard['update'],
    { at, opId }: { at?: BucketRef | undefined; opId?: string | undefined },
  ): Promise<RawResult[]> {
    const { order, ties, cap = 0 } = this.definition;
    // One operation may be about several members, such as an order of several products.
    const operation = operationKeys(this.context.keys, PATTERN, this.#series.root, opId, this.where, entries[0]);
    // The best of two equal scores is the same score; a sum would be another one, and the latest might no longer be the latest.
    const once = update === 'best' ? 'idempotent' : 'once';
    const effect = opId === undefined ? once : 'token';
    const [state, ...results] = await this.#series.run(at, (place, deadline) =>
      runScript(
        this.context.connection,
        submitScript,
        [...this.#keys(place), ...operation],
        [place.from, place.to, order, ties, place.end, this.ttl, update, cap, OPERATION_TTL, ...entries],
        // Who wants it exactly once has it asked for again after a lost reply, which takes a connection.
        { effect, deadline, wait: opId !== undefined },
      ),
    );
    if (state === 'range') throw new NumberRangeError('the sum');
    return Array.from({ length: results.length / 3 }, (_, n) => ({
      changed: results[3 * n] === 1,
      score: Number(results[3 * n + 1]),
      rank: Number(results[3 * n + 2]),
    }));
  }

  async slice(offset: number, size: number, member: string, at: BucketRef | undefined): Promise<RawEntry[]> {
    const { order, ties } = this.definition;
    const [, ...found] = await this.#series.run(at, (place, deadline) => {
      const [board, members, datas, scores] = this.#keys(place);
      const args = [place.from, place.to, order, ties, offset, size, member] as const;
      return runScript(this.context.connection, sliceScript, [board, members, datas, scores], [...args], { deadline });
    });
    return Array.from({ length: found.length / 4 }, (_, n) => ({
      member: String(found[4 * n]),
      position: offset + n,
      ...readEntry(found, 4 * n + 1),
    }));
  }

  /** Those of the members that are on the board, and how many there are at all. */
  async ranks(members: readonly string[], at: BucketRef | undefined): Promise<{ total: number; entries: RawEntry[] }> {
    const { order, ties } = this.definition;
    const [, total, ...found] = await this.#series.run(at, (place, deadline) => {
      const [board, names, datas, scores] = this.#keys(place);
      const args = [place.from, place.to, order, ties, ...members] as const;
      return runScript(this.context.connection, ranksScript, [board, names, datas, scores], [...args], { deadline });
    });
    const entries = members.map((member, n) => ({
      member,
      position: Number(found[4 * n]),
      ...readEntry(found, 4 * n + 1),
    }));
    return { total, entries: entries.filter(({ position }) => position >= 0) };
  }

  async remove(members: readonly string[], at: BucketRef | undefined): Promise<number> {
    const { order, ties } = this.definition;
    const [, removed] = await this.#series.run(at, (place, deadline) => {
      const args = [place.from, place.to, order, ties, ...members] as const;
      return runScript(this.context.connection, removeScript, this.#keys(place), [...args], { deadline });
    });
    return removed;
  }

  drop(at: BucketRef | undefined): Promise<boolean> {
    return this.#series.drop(at, (place) => this.#keys(place));
  }

  #keys({ key }: Place): BoardKeys {
    if (this.#last?.[0] === key) return this.#last;
    const beside = (role: string): string => this.context.keys.companion(PATTERN, role, key);
    return (this.#last = [key, beside('member'), beside('data'), beside('scores'), beside('counts')]);
  }
}

type Replied = readonly (string | number | null)[];

function readEntry(reply: Replied, index: number): Pick<RawEntry, 'score' | 'rank' | 'data'> {
  return {
    score: exactNumber(String(reply[index]), 'a score'),
    rank: Number(reply[index + 1]),
    data: reply[index + 2] as string | null,
  };
}
