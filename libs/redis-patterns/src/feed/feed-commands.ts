import { ServerClock } from '../buckets/index.js';
import type { EngineContext } from '../connection/index.js';
import type { Key } from '../keys/index.js';
import { runScript } from '../scripting/index.js';
import type { PatternTracer } from '../telemetry/index.js';
import type { ResolvedFeed } from './feed.options.js';
import { markScript, pageScript, pushScript, unreadScript } from './scripts.generated.js';
import { afterId, UlidSource } from './ulid.js';

/** Keys of one feed. */
export type FeedKeys = readonly [feed: string, seen: string, loaded: string];

const PATTERN = 'feed';

/** What feeds say to Redis. An entry is its id and its text in one. */
export class FeedCommands {
  readonly #clock = new ServerClock();
  readonly #ids = new UlidSource();
  readonly tracer: PatternTracer;

  constructor(private readonly context: EngineContext) {
    this.tracer = context.telemetry.tracer(PATTERN, context.connection.name);
  }

  /** @throws InvalidKeyError */
  keysOf(name: Key): FeedKeys {
    const { keys } = this.context;
    const feed = keys.main(PATTERN, name);
    return [feed, keys.companion(PATTERN, 'seen', feed), keys.companion(PATTERN, 'loaded', feed)];
  }

  /** Greater than every id before it in this process, and of the time of Redis. */
  async newId(): Promise<string> {
    if (!this.#clock.known) {
      const [seconds, micros] = await this.context.connection.run({
        name: 'feed.time',
        effect: 'read',
        send: (client) => client.time(),
      });
      this.#clock.learn(Number(seconds) * 1000 + Math.floor(Number(micros) / 1000));
    }
    return this.#ids.next(this.#clock.now());
  }

  /** @param load whether nothing is left to load after this */
  async push(
    [feed, seen, loaded]: FeedKeys,
    { max, ttl }: ResolvedFeed,
    same: 'new' | 'replace' | 'keep',
    entries: readonly string[],
    load: 0 | 1 = 0,
  ): Promise<void> {
    const { connection } = this.context;
    this.#clock.learn(
      Number(await runScript(connection, pushScript, [feed, seen, loaded], [max, ttl, same, load, ...entries])),
    );
  }

  /** Newest first, those below `before`. */
  page([feed]: FeedKeys, before: string, size: number): Promise<string[]> {
    return this.context.connection.run({
      name: 'feed.page',
      effect: 'read',
      key: feed,
      send: (client) => client.zrange(feed, before === '' ? '+' : `(${before}`, '-', 'BYLEX', 'REV', 'LIMIT', 0, size),
    });
  }

  /** The same, and whether it has been loaded. */
  async loadedPage([feed, , loaded]: FeedKeys, before: string, size: number): Promise<[boolean, string[]]> {
    const [done, ...entries] = await runScript(this.context.connection, pageScript, [feed, loaded], [before, size]);
    return [done === 1, entries];
  }

  unread([feed, seen]: FeedKeys): Promise<number> {
    return runScript(this.context.connection, unreadScript, [feed, seen], []);
  }

  mark([feed, seen]: FeedKeys, id: string, ttl: number): Promise<0 | 1> {
    return runScript(this.context.connection, markScript, [feed, seen], [id, ttl]);
  }

  /** Drops whatever has the id. */
  remove([feed]: FeedKeys, id: string): Promise<number> {
    return this.context.connection.run({
      name: 'feed.remove',
      effect: 'idempotent',
      key: feed,
      send: (client) => client.zremrangebylex(feed, `[${id}`, `(${afterId(id)}`),
    });
  }

  /** Drops these very entries. */
  removeEntries([feed]: FeedKeys, entries: readonly string[]): Promise<number> {
    return this.context.connection.run({
      name: 'feed.remove',
      effect: 'idempotent',
      key: feed,
      send: (client) => client.zrem(feed, ...entries),
    });
  }

  size([feed]: FeedKeys): Promise<number> {
    return this.context.connection.run({
      name: 'feed.size',
      effect: 'read',
      key: feed,
      send: (client) => client.zcard(feed),
    });
  }

  clear(keys: FeedKeys): Promise<number> {
    return this.context.connection.run({
      name: 'feed.clear',
      effect: 'idempotent',
      key: keys[0],
      send: (client) => client.unlink(...keys),
    });
  }
}
