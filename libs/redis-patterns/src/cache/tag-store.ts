import { randomBytes } from 'node:crypto';
import type { EngineContext, RedisConnection } from '../connection/index.js';
import { runScript, sendScript } from '../scripting/index.js';
import type { CommandLimits } from './entry-store.js';
import { advanceGenerationsScript, readGenerationsScript, takeTokenScript } from './scripts.generated.js';
import type { TagIndex } from './tag-index.js';
import type { TagNames } from './tags.js';

/** Milliseconds. */
export interface TagLifetimes {
  readonly tagTtl: number;
  /** Longest life of an entry. */
  readonly maxTtl: number;
}

const CELLS = 64;
const CELL = 6;

/**
 * The keys of tags: a random token for each, and the generations, by which a load that learns its tags from the value can
 * tell whether one of them was invalidated while it ran.
 */
export class TagStore {
  readonly #connection: RedisConnection;
  readonly #prefix: string;
  readonly #generations: string;

  constructor(
    { connection, keys }: EngineContext,
    private readonly lifetimes: TagLifetimes,
    private readonly newToken: () => string,
    private readonly index?: TagIndex,
  ) {
    this.#connection = connection;
    this.#prefix = `${keys.namespace}:cache~tag:`;
    this.#generations = `${keys.namespace}:cache~gen`;
  }

  /** What the keys of all tags begin with. */
  get prefix(): string {
    return this.#prefix;
  }

  keyOf(tag: string): string {
    return this.#prefix + tag;
  }

  /** The tokens of tags, made where there are none, so that what is loaded from now on can be stored under them. */
  take(tags: TagNames, limits: CommandLimits): Promise<string[]> {
    if (tags.length === 0) return Promise.resolve([]);
    const { tagTtl, maxTtl } = this.lifetimes;
    const keys = tags.map((tag) => this.keyOf(tag));
    // One call for all: many loads with many tags would else be more calls than the connection lets through.
    return this.#connection.run({
      name: takeTokenScript.name,
      effect: takeTokenScript.effect,
      key: keys[0]!,
      ...limits,
      send: (client) =>
        Promise.all(keys.map((key) => sendScript(client, takeTokenScript, [key], [this.newToken(), tagTtl, maxTtl]))),
    });
  }

  /** The tokens as they are. */
  read(tags: TagNames, limits: CommandLimits): Promise<(string | null)[]> {
    const keys = tags.map((tag) => this.keyOf(tag));
    return this.#connection.run({
      name: 'cache.tags',
      effect: 'read',
      key: keys[0]!,
      ...limits,
      send: (client) =>
        this.#connection.mode === 'cluster' ? Promise.all(keys.map((key) => client.get(key))) : client.mget(keys),
    });
  }

  /**
   * Keys of entries that were stored under a tag since it was invalidated last; they may be gone.
   *
   * @returns `undefined` without an index
   */
  async entriesOf(tag: string, limit: number, limits: CommandLimits): Promise<string[] | undefined> {
    if (this.index === undefined) return undefined;
    const [token] = await this.read([tag], limits);
    return typeof token === 'string' ? this.index.list(tag, token, limit, limits) : [];
  }

  /** The generations of all tags, for {@link unchanged}. */
  generations(limits: CommandLimits): Promise<string> {
    const { tagTtl, maxTtl } = this.lifetimes;
    const filler = randomBytes(9).toString('base64url');
    const args = [filler, CELLS * CELL, tagTtl, maxTtl] as [string, number, number, number];
    return runScript(this.#connection, readGenerationsScript, [this.#generations], args, limits);
  }

  /**
   * Gives tags new tokens: what was loaded under them until now is invalid.
   *
   * The generations come first, and are acknowledged before any token changes: a load that finds its generation unchanged
   * after it has taken the token of a tag has taken the one that will become invalid.
   */
  async invalidate(tags: TagNames, limits: CommandLimits): Promise<void> {
    const value = randomBytes(5).toString('base64url').slice(0, CELL);
    const offsets = [...new Set(tags.map((tag) => cellOf(tag) * CELL))];
    const args: [string, number, ...number[]] = [value, this.lifetimes.tagTtl, ...offsets];
    await runScript(this.#connection, advanceGenerationsScript, [this.#generations], args, limits);
    const results = await Promise.allSettled(tags.map((tag) => this.#replace(tag, limits)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #replace(tag: string, limits: CommandLimits): Promise<void> {
    const [key, token] = [this.keyOf(tag), this.newToken()];
    const former = await this.#connection.run({
      name: 'cache.invalidateTag',
      effect: 'idempotent',
      key,
      ...limits,
      send: (client) => {
        const { tagTtl } = this.lifetimes;
        return this.index === undefined
          ? client.set(key, token, 'PX', tagTtl)
          : client.set(key, token, 'PX', tagTtl, 'GET');
      },
    });
    // A repetition finds what it has written itself: under that nothing is invalid.
    if (this.index !== undefined && former !== null && former !== token) this.index.reclaim(tag, former);
  }
}

/** Whether no tag of these was about to be invalidated between two looks at the generations. */
export function unchanged(tags: TagNames, before: string, after: string): boolean {
  return tags.every((tag) => {
    const offset = cellOf(tag) * CELL;
    return before.slice(offset, offset + CELL) === after.slice(offset, offset + CELL);
  });
}

/** The cell of a tag, the same in every process (FNV-1a, 32 bits). */
function cellOf(tag: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < tag.length; index++) hash = Math.imul(hash ^ tag.charCodeAt(index), 0x01000193);
  return (hash >>> 0) % CELLS;
}
