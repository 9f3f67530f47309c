import { z } from 'zod';
import { bucketShape, type BucketOptions } from '../buckets/index.js';
import { durationSchema, parseOptions, type Duration } from '../core/index.js';

/** What makes a board; the same for all who use it. */
export interface LeaderboardDefinition extends BucketOptions {
  /** What is better: more (`'desc'`, default) or less (`'asc'`). */
  order?: 'desc' | 'asc';
  /**
   * How equal scores are ranked: `'competition'` (default) 1, 2, 2, 4; `'dense'` 1, 2, 2, 3; `'first'` 1, 2, 3, 4, whoever reached
   * the score first before the others.
   */
  ties?: 'competition' | 'first' | 'dense';
  /** What becomes of the old score of a member: it stays if it is better (`'best'`, default), the new one is added to it, or replaces it. */
  update?: 'best' | 'sum' | 'latest';
  /** How long a board lives after the last call that submits; with buckets after the end of its bucket. Default 24 h. */
  ttl?: Duration;
  /** Most members; the worst are dropped. Default: no limit. */
  cap?: number;
}

/** Options of `leaderboard` in `RedisPatternsOptions`. */
export interface LeaderboardOptions {
  /** Name of the connection. Default `'default'`. */
  connection?: string;
  /** Default of all boards. Default 24 h. */
  ttl?: Duration;
}

/** Parsed {@link LeaderboardOptions}. */
export interface ResolvedLeaderboardOptions {
  readonly connection?: string | undefined;
  readonly ttl: number;
}

const ttl = durationSchema({ min: 1 });
const capRule = 'must be an integer from 1';

const schema = z.strictObject({ connection: z.string().optional(), ttl: ttl.prefault('24h') });

const definitionSchema = z.strictObject({
  ...bucketShape,
  order: z.enum(['desc', 'asc'], "must be 'desc' or 'asc'").default('desc'),
  ties: z.enum(['competition', 'first', 'dense'], "must be 'competition', 'first' or 'dense'").default('competition'),
  update: z.enum(['best', 'sum', 'latest'], "must be 'best', 'sum' or 'latest'").default('best'),
  ttl: ttl.optional(),
  cap: z.int(capRule).min(1, capRule).optional(),
});

/** Parsed {@link LeaderboardDefinition}. */
export type ResolvedLeaderboard = z.output<typeof definitionSchema>;

/** @throws InvalidOptionsError */
export function resolveLeaderboardOptions(raw: unknown, where: string): ResolvedLeaderboardOptions {
  return parseOptions(schema, raw ?? {}, where, 'leaderboard');
}

/** @throws InvalidOptionsError */
export function resolveLeaderboard(raw: unknown): ResolvedLeaderboard {
  return parseOptions(definitionSchema, raw, 'LeaderboardService.board()');
}
