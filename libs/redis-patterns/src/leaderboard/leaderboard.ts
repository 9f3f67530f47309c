import {
  checkAt,
  checkInteger,
  checkNames,
  checkScore,
  type AtOptions,
  type OperationOptions,
} from '../buckets/index.js';
import { decodeValue, encodeValue } from '../codec/index.js';
import { checkOptionNames, InvalidOptionsError } from '../core/index.js';
import { traceMethods, type PatternTracer } from '../telemetry/index.js';
import type { LeaderboardCommands, RawEntry, RawResult } from './leaderboard-commands.js';
import type { ResolvedLeaderboard } from './leaderboard.options.js';

/** A member of a board, where it stands. */
export interface LeaderboardEntry<Data = unknown> {
  readonly member: string;
  readonly score: number;
  /** From 1; see `ties`. */
  readonly rank: number;
  /** What was submitted with the score; `undefined` for nothing. */
  readonly data: Data | undefined;
}

/** What a score came to. */
export interface SubmitResult {
  /** Whether the board is another one now. */
  readonly changed: boolean;
  /** `undefined` when the member is not on the board: worse than all of a full one (`cap`). */
  readonly score: number | undefined;
  readonly rank: number | undefined;
}

/** One score of {@link Leaderboard.submitMany}. */
export interface Submission<Data = unknown> {
  readonly member: string;
  readonly score: number;
  readonly data?: Data;
}

/** Most members of one call: a script holds up its server for as long as it runs. */
const MOST = 1000;
/** The same for those that write. */
const MOST_WRITTEN = 500;

/**
 * One board, as {@link LeaderboardService.board} gives it: light, to be kept or asked for each time. Each call is one script: ranks, scores
 * and data are what they were at one moment.
 */
export class Leaderboard<Data = unknown> {
  readonly #commands: LeaderboardCommands;
  readonly #definition: ResolvedLeaderboard;
  private readonly tracer: PatternTracer;

  /** @internal */
  constructor(commands: LeaderboardCommands, definition: ResolvedLeaderboard) {
    this.tracer = commands.tracer;
    this.#commands = commands;
    this.#definition = definition;
    Object.freeze(this);
  }

  /**
   * Takes a score: as `update` says, it replaces the old one, is added to it, or stays away when it is no better. Data goes with a score that is taken.
   *
   * With `update: 'best'` it may be repeated, and is when a reply was lost; `changed` is then `false`. Else it is done at most once, and exactly
   * once with an `opId` that is repeated for the member within 10 minutes.
   *
   * @param score within ±(2^53 − 1)
   * @throws InvalidOptionsError, NumberRangeError, CodecError, RedisUnavailableError
   */
  async submit(
    member: string,
    score: number,
    data?: Data,
    options: AtOptions & OperationOptions = {},
  ): Promise<SubmitResult> {
    return this.#write('Leaderboard.submit()', [{ member, score, ...(data === undefined ? {} : { data }) }], options);
  }

  /**
   * {@link submit} for up to 500 members, all or none.
   *
   * @throws InvalidOptionsError also for a member that is given twice
   */
  async submitMany(submissions: readonly Submission<Data>[], options: AtOptions = {}): Promise<SubmitResult[]> {
    const where = 'Leaderboard.submitMany()';
    const at = checkAt(options, where);
    const members = submissions.map(({ member }) => member);
    checkNames(members, where, 'members', MOST_WRITTEN);
    if (new Set(members).size < members.length) {
      throw new InvalidOptionsError(where, [{ path: 'members', message: 'has a member twice' }]);
    }
    if (members.length === 0) return [];
    const entries = submissions.flatMap((each, n) => toArguments(each, where, `submissions[${n}].score`));
    return (await this.#commands.submit(entries, this.#definition.update, { at })).map(toResult);
  }

  /**
   * Adds to a score, whatever `update` says; a member that is not on the board begins at 0. At most once; with an `opId` that is repeated within 10
   * minutes exactly once, and the result is that of the first time.
   *
   * @throws NumberRangeError when the sum would leave ±(2^53 − 1); it then stays what it was
   *
   * @example
   * ```ts
   * await board.incr('teapot', 2, { opId: order.id }); // a repeated message counts once
   * ```
   */
  async incr(member: string, by = 1, options: AtOptions & OperationOptions = {}): Promise<SubmitResult> {
    return this.#write('Leaderboard.incr()', [{ member, score: by }], options, 'sum');
  }

  /**
   * A part of the board in its order.
   *
   * @param options `offset` from 0 (default), `size` 1 to 1000 (default 50)
   */
  async page(options: AtOptions & { offset?: number; size?: number } = {}): Promise<LeaderboardEntry<Data>[]> {
    checkOptionNames(options, ['offset', 'size', 'at'], 'Leaderboard.page()');
    const { offset = 0, size = 50, at } = options;
    checkInteger(offset, 'Leaderboard.page()', 'offset', 0, 2 ** 32);
    checkInteger(size, 'Leaderboard.page()', 'size', 1, MOST);
    return (await this.#commands.slice(offset, size, '', at)).map(toEntry<Data>);
  }

  /** The best `n`, 1 to 1000. */
  async top(n: number, options: AtOptions = {}): Promise<LeaderboardEntry<Data>[]> {
    const at = checkAt(options, 'Leaderboard.top()');
    checkInteger(n, 'Leaderboard.top()', 'n', 1, MOST);
    return (await this.#commands.slice(0, n, '', at)).map(toEntry<Data>);
  }

  /**
   * The neighbours of a member, itself in the middle; at the edges of the board it is not, and the part is as full all the same. Empty when the
   * member is not on the board.
   *
   * @param options `size` with the member itself, 1 to 1000 (default 11)
   */
  async around(member: string, options: AtOptions & { size?: number } = {}): Promise<LeaderboardEntry<Data>[]> {
    checkOptionNames(options, ['size', 'at'], 'Leaderboard.around()');
    const { size = 11, at } = options;
    checkNames([member], 'Leaderboard.around()', 'member', 1);
    checkInteger(size, 'Leaderboard.around()', 'size', 1, MOST);
    return (await this.#commands.slice(0, size, member, at)).map(toEntry<Data>);
  }

  /** The rank of a member, from 1; `undefined` when it is not on the board. */
  async rank(member: string, options: AtOptions = {}): Promise<number | undefined> {
    return (await this.get(member, options))?.rank;
  }

  /** A member with its score, rank and data; `undefined` when it is not on the board. */
  async get(member: string, options: AtOptions = {}): Promise<LeaderboardEntry<Data> | undefined> {
    const at = checkAt(options, 'Leaderboard.get()');
    checkNames([member], 'Leaderboard.get()', 'member', 1);
    return (await this.#commands.ranks([member], at)).entries.map(toEntry<Data>)[0];
  }

  /** Up to 1000 members, such as friends: those that are on the board, in its order, with their ranks on the whole of it. */
  async ranks(members: readonly string[], options: AtOptions = {}): Promise<LeaderboardEntry<Data>[]> {
    const at = checkAt(options, 'Leaderboard.ranks()');
    checkNames(members, 'Leaderboard.ranks()', 'members', MOST);
    const { entries } = await this.#commands.ranks(members, at);
    return entries.toSorted((a, b) => a.position - b.position).map(toEntry<Data>);
  }

  /** How many members the board has. */
  async size(options: AtOptions = {}): Promise<number> {
    return (await this.#commands.ranks([], checkAt(options, 'Leaderboard.size()'))).total;
  }

  /**
   * Takes a member off the board.
   *
   * @returns whether it was there; `false` also when a lost reply made it be asked for twice
   */
  async remove(member: string, options: AtOptions = {}): Promise<boolean> {
    return (await this.removeMany([member], options)) > 0;
  }

  /** {@link remove} for up to 500 members. @returns how many were there */
  async removeMany(members: readonly string[], options: AtOptions = {}): Promise<number> {
    const at = checkAt(options, 'Leaderboard.remove()');
    checkNames(members, 'Leaderboard.remove()', 'members', MOST_WRITTEN);
    return this.#commands.remove(members, at);
  }

  /** Drops the board. @returns whether there was one */
  async clear(options: AtOptions = {}): Promise<boolean> {
    return this.#commands.drop(checkAt(options, 'Leaderboard.clear()'));
  }

  async #write(
    where: string,
    [submission]: [Submission<Data>],
    options: AtOptions & OperationOptions,
    update = this.#definition.update,
  ): Promise<SubmitResult> {
    checkOptionNames(options, ['at', 'opId'], where);
    checkNames([submission.member], where, 'member', 1);
    const [result] = await this.#commands.submit(toArguments(submission, where, 'score'), update, options);
    return toResult(result!);
  }
}

traceMethods(Leaderboard, [
  ...([
    'submit',
    'submitMany',
    'incr',
    'page',
    'top',
    'around',
    'get',
    'ranks',
    'size',
    'removeMany',
    'clear',
  ] as const),
]);

function toArguments({ member, score, data }: Submission, where: string, path: string): string[] {
  // Zero has no sign in Redis' order either.
  const text = String(checkScore(score, where, path) + 0);
  return [member, text, data === undefined ? '' : encodeValue(data)];
}

function toEntry<Data>({ member, score, rank, data }: RawEntry): LeaderboardEntry<Data> {
  return { member, score, rank, data: data === null ? undefined : (decodeValue(data) as Data) };
}

function toResult({ changed, score, rank }: RawResult): SubmitResult {
  return rank === 0 ? { changed, score: undefined, rank: undefined } : { changed, score, rank };
}
