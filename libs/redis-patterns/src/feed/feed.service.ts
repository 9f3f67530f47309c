import { checkName, Definitions } from '../buckets/index.js';
import { encodeValue } from '../codec/index.js';
import type { EngineContext } from '../connection/index.js';
import { checkOptionNames, InvalidOptionsError, SingleFlight } from '../core/index.js';
import type { Key } from '../keys/index.js';
import { traceMethods, type PatternTracer } from '../telemetry/index.js';
import { FeedCommands, type FeedKeys } from './feed-commands.js';
import { Feed, idOf, sameOf, type PushOptions } from './feed.js';
import { Room } from './room.js';
import {
  resolveFeed,
  type FeedDefinition,
  type LoadedFeedDefinition,
  type ResolvedFeedOptions,
} from './feed.options.js';

/** What goes with an item for many feeds; `max` and `ttl` as those feeds have them. */
export interface FanOutOptions extends FeedDefinition, PushOptions {
  /** Ends it: feeds that were not written by then are `failed`. */
  signal?: AbortSignal;
}

/** What became of an item for many feeds. */
export interface FanOutResult {
  /** Of the entry in all of them. */
  readonly id: string;
  /** How many feeds have it. */
  readonly written: number;
  /** The others, which may have it. To give them again, with the same `id`, makes no second entry. */
  readonly failed: readonly Key[];
}

/** Feeds that fan-outs write at the same time; what goes out in one turn goes out together, in a Cluster to all of its nodes. */
const IN_FLIGHT = 256;

/**
 * Lists of what happened, newest first: the activity of friends, the news of a project. What they promise is in docs/feeds.md.
 *
 * @example
 * ```ts
 * const feed = this.feeds.feed<Activity>(['user', userId], { max: 500 });
 * await feed.push({ kind: 'comment', commentId });
 * await feed.page({ size: 20 });
 * ```
 */
export class FeedService {
  readonly #commands: FeedCommands;
  readonly #feeds = new Definitions<Feed<never>>();
  readonly #loads = new SingleFlight<string, void>();
  readonly #room = new Room(IN_FLIGHT);
  private readonly tracer: PatternTracer;

  constructor(
    context: EngineContext,
    /** @internal */
    readonly options: ResolvedFeedOptions,
  ) {
    this.#commands = new FeedCommands(context);
    this.tracer = this.#commands.tracer;
  }

  /**
   * The feed of a name. Whoever uses it gives the same options.
   *
   * @throws InvalidKeyError, InvalidOptionsError
   */
  feed<Item = unknown>(name: Key, definition: LoadedFeedDefinition<Item> = {}): Feed<Item> {
    checkName(name);
    const keys = this.#commands.keysOf(name);
    const make = (): Feed<never> => {
      const resolved = resolveFeed(definition, this.options, 'FeedService.feed()');
      return new Feed<never>(this.#commands, keys, resolved, this.#loads);
    };
    return this.#feeds.of(keys[0], definition, make) as Feed<unknown> as Feed<Item>;
  }

  /**
   * An id for an entry that is pushed later, perhaps more than once: greater than those before it in this process, and of the time of Redis.
   *
   * @throws RedisUnavailableError when Redis has not told the time yet
   *
   * @example
   * ```ts
   * const id = await feeds.newId();
   * await retry(() => feed.push(item, { id })); // one entry
   * ```
   */
  async newId(): Promise<string> {
    return this.#commands.newId();
  }

  /**
   * Puts one item into many feeds, encoded once and with one id, 256 feeds at a time. What fails does not keep the others.
   *
   * @throws InvalidKeyError, InvalidOptionsError and CodecError before anything is sent; RedisUnavailableError only when there was no time for an id
   *
   * @example
   * ```ts
   * const { id, failed } = await feeds.fanOut(followers.map((user) => ['user', user]), post);
   * if (failed.length > 0) await feeds.fanOut(failed, post, { id });
   * ```
   */
  async fanOut(names: readonly Key[], item: unknown, options: FanOutOptions = {}): Promise<FanOutResult> {
    const where = 'FeedService.fanOut()';
    checkOptionNames(options, ['id', 'at', 'signal', 'max', 'ttl'], where);
    const { id: givenId, at, signal, ...definition } = options;
    if (signal !== undefined && !(signal instanceof AbortSignal)) {
      throw new InvalidOptionsError(where, [{ path: 'signal', message: 'must be an AbortSignal' }]);
    }
    const same = sameOf(options);
    const resolved = resolveFeed(definition, this.options, where);
    names.forEach(checkName);
    const keys = names.map((name) => this.#commands.keysOf(name));
    const text = encodeValue(item);
    const id = await idOf(this.#commands, { id: givenId, at }, where);
    const failed: Key[] = [];
    for (let start = 0; start < names.length; start += IN_FLIGHT) {
      const batch = keys.slice(start, start + IN_FLIGHT);
      await this.#room.enter(batch.length);
      const stopped = signal?.aborted === true;
      const push = (each: FeedKeys): Promise<void> =>
        stopped ? Promise.reject(signal.reason as Error) : this.#commands.push(each, resolved, same, [id + text]);
      const results = await Promise.allSettled(batch.map(push));
      this.#room.leave(batch.length);
      results.forEach(({ status }, n) => {
        if (status === 'rejected') failed.push(names[start + n]!);
      });
    }
    return { id, written: names.length - failed.length, failed };
  }
}

traceMethods(FeedService, ['fanOut']);
