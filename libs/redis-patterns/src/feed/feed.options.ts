import { z } from 'zod';
import { durationSchema, parseOptions, type Duration } from '../core/index.js';

/** What makes a feed; the same for all who push to it. */
export interface FeedDefinition {
  /** Most entries, 1 to 100 000; the oldest are dropped. Default 1000. */
  max?: number;
  /** How long a feed lives after the last push. Default 30 d. */
  ttl?: Duration;
}

/** One entry that {@link FeedLoader} gives. */
export interface LoadedItem<Item = unknown> {
  readonly item: Item;
  /** The id that it was pushed with: then a push of it at the same time makes no second entry. */
  readonly id?: string;
  /** When it happened. Without `id`: it is made of this and of the item, so that it is the same each time. */
  readonly at?: Date;
}

/** Reads what a feed should hold from where it is kept for good. At most `max` entries are used, the newest. */
export type FeedLoader<Item = unknown> = (context: { readonly max: number }) => Promise<readonly LoadedItem<Item>[]>;

/** {@link FeedDefinition}, and how a feed that has expired is filled again. */
export interface LoadedFeedDefinition<Item = unknown> extends FeedDefinition {
  /** Called by the first page of a feed that is not there, once for all callers of this process. */
  load?: FeedLoader<Item>;
}

/** Options of `feed` in `RedisPatternsOptions`. */
export interface FeedOptions extends FeedDefinition {
  /** Name of the connection. Default `'default'`. */
  connection?: string;
}

/** Parsed {@link FeedDefinition}. */
export interface ResolvedFeed {
  readonly max: number;
  readonly ttl: number;
}

/** Parsed {@link FeedOptions}. */
export interface ResolvedFeedOptions extends ResolvedFeed {
  readonly connection?: string | undefined;
}

const maxRule = 'must be an integer from 1 to 100 000';
const max = z.int(maxRule).min(1, maxRule).max(1e5, maxRule);
const ttl = durationSchema({ min: 1 });

const schema = z.strictObject({ connection: z.string().optional(), max: max.default(1000), ttl: ttl.prefault('30d') });
const definitionSchema = z.strictObject({
  max: max.optional(),
  ttl: ttl.optional(),
  load: z.custom<FeedLoader>((value) => typeof value === 'function', 'must be a function').optional(),
});

/** @throws InvalidOptionsError */
export function resolveFeedOptions(raw: unknown, where: string): ResolvedFeedOptions {
  return parseOptions(schema, raw ?? {}, where, 'feed');
}

/** @throws InvalidOptionsError */
export function resolveFeed(raw: unknown, defaults: ResolvedFeed, where: string): ResolvedFeed & { load?: FeedLoader } {
  const { max, ttl, load } = parseOptions(definitionSchema, raw, where);
  return { max: max ?? defaults.max, ttl: ttl ?? defaults.ttl, ...(load === undefined ? {} : { load }) };
}
