import { Definitions, ServerClock } from '../buckets/index.js';
import type { EngineContext } from '../connection/index.js';
import type { Key } from '../keys/index.js';
import { LeaderboardCommands } from './leaderboard-commands.js';
import { Leaderboard } from './leaderboard.js';
import {
  resolveLeaderboard,
  type LeaderboardDefinition,
  type ResolvedLeaderboardOptions,
} from './leaderboard.options.js';

/**
 * Rankings: who is best, where somebody stands, who stands around them. What it promises is in docs/leaderboards.md.
 *
 * @example
 * ```ts
 * const sellers = this.leaderboards.board<{ name: string }>('best-sellers', { update: 'sum', bucket: 'week' });
 * await sellers.submit('42', 1, { name: 'Teapot' });
 * await sellers.top(10); // [{ member: '42', score: 1, rank: 1, data: { name: 'Teapot' } }]
 * ```
 */
export class LeaderboardService {
  readonly #clock = new ServerClock();
  readonly #boards = new Definitions<Leaderboard<never>>();

  constructor(
    private readonly context: EngineContext,
    /** @internal */
    readonly options: ResolvedLeaderboardOptions,
  ) {}

  /**
   * The board of a name. Whoever uses it gives the same options; `order`, `ties` and `update` of a board that has members must not change.
   *
   * @throws InvalidKeyError, InvalidOptionsError
   */
  board<Data = unknown>(name: Key, definition: LeaderboardDefinition = {}): Leaderboard<Data> {
    const key = this.context.keys.main('leaderboard', name);
    const make = (): Leaderboard<never> => {
      const resolved = resolveLeaderboard(definition);
      const ttl = resolved.ttl ?? this.options.ttl;
      const commands = new LeaderboardCommands(this.context, this.#clock, name, resolved, ttl, 'Leaderboard');
      return new Leaderboard<never>(commands, resolved);
    };
    return this.#boards.of(key, definition, make) as Leaderboard<unknown> as Leaderboard<Data>;
  }
}
