import { checkInteger } from '../buckets/index.js';
import { decodeValue, encodeValue } from '../codec/index.js';
import { checkOptionNames, InvalidOptionsError, type SingleFlight } from '../core/index.js';
import { traceMethods, type PatternTracer } from '../telemetry/index.js';
import type { FeedCommands, FeedKeys } from './feed-commands.js';
import type { FeedLoader, LoadedItem, ResolvedFeed } from './feed.options.js';
import { isUlid, timeOf, ulidAt, ulidOf } from './ulid.js';

/** One entry of a feed. */
export interface FeedEntry<Item = unknown> {
  /** A ULID: in the order of the feed, and the cursor of the page behind it. */
  readonly id: string;
  /** The moment of the id. */
  readonly at: Date;
  readonly item: Item;
}

/** What goes with an item. */
export interface PushOptions {
  /** The id of the entry, a ULID: what was pushed with it before is replaced. Default: a new one. */
  id?: string;
  /** When it happened: where it stands in the feed. Default: now, by the clock of Redis. */
  at?: Date;
}

/** Where a page begins, and how many entries it has. */
export interface FeedPageOptions {
  /** Id of the last entry of the page before. Default: the newest entries. */
  before?: string;
  /** 1 to 1000. Default 20. */
  size?: number;
}

const MOST = 1000;
/** Entries of one script or page that is gone through here. */
const BATCH = 200;

/**
 * One feed, newest first, as {@link FeedService.feed} gives it: light, to be kept or asked for each time.
 */
export class Feed<Item = unknown> {
  readonly #commands: FeedCommands;
  readonly #keys: FeedKeys;
  readonly #definition: ResolvedFeed & { readonly load?: FeedLoader };
  readonly #loads: SingleFlight<string, void>;
  private readonly tracer: PatternTracer;

  /** @internal */
  constructor(
    commands: FeedCommands,
    keys: FeedKeys,
    definition: ResolvedFeed & { readonly load?: FeedLoader },
    loads: SingleFlight<string, void>,
  ) {
    this.tracer = commands.tracer;
    this.#commands = commands;
    this.#keys = keys;
    this.#definition = definition;
    this.#loads = loads;
    Object.freeze(this);
  }

  /**
   * Puts an item on top, or where `at` or `id` says. An entry with the same id is replaced, so that a push may be repeated with the id.
   *
   * @returns the id of the entry
   * @throws InvalidOptionsError, CodecError, RedisUnavailableError
   *
   * @example
   * ```ts
   * const id = await feed.push({ kind: 'order', orderId: order.id });
   * await feed.remove(id);
   * ```
   */
  async push(item: Item, options: PushOptions = {}): Promise<string> {
    checkOptionNames(options, ['id', 'at'], 'Feed.push()');
    const text = encodeValue(item);
    const id = await idOf(this.#commands, options, 'Feed.push()');
    await this.#commands.push(this.#keys, this.#definition, sameOf(options), [id + text]);
    return id;
  }

  /**
   * Entries, newest first. The next page begins before the last id of this one: what is pushed meanwhile shifts nothing.
   *
   * @throws what `load` throws, unchanged; InvalidOptionsError, RedisUnavailableError
   *
   * @example
   * ```ts
   * const first = await feed.page({ size: 20 });
   * const second = await feed.page({ before: first.at(-1)?.id, size: 20 });
   * ```
   */
  async page(options: FeedPageOptions = {}): Promise<FeedEntry<Item>[]> {
    checkOptionNames(options, ['before', 'size'], 'Feed.page()');
    const { before, size = 20 } = options;
    checkInteger(size, 'Feed.page()', 'size', 1, MOST);
    if (before !== undefined) checkId(before, 'Feed.page()', 'before');
    return (await this.#page(before ?? '', size)).map(toEntry<Item>);
  }

  /** Takes an entry out. @returns whether it was there */
  async remove(id: string): Promise<boolean> {
    checkId(id, 'Feed.remove()', 'id');
    return (await this.#commands.remove(this.#keys, id)) > 0;
  }

  /**
   * Takes out all entries that a function says yes to, going through the whole feed in pages; what is pushed meanwhile is left alone.
   *
   * @returns how many
   */
  async removeIf(matches: (item: Item, entry: FeedEntry<Item>) => boolean): Promise<number> {
    if (typeof matches !== 'function') {
      throw new InvalidOptionsError('Feed.removeIf()', [{ path: 'matches', message: 'must be a function' }]);
    }
    let removed = 0;
    for (let before = ''; ;) {
      const found = await this.#commands.page(this.#keys, before, BATCH);
      const chosen = found.filter((text) => {
        const entry = toEntry<Item>(text);
        return matches(entry.item, entry);
      });
      if (chosen.length > 0) removed += await this.#commands.removeEntries(this.#keys, chosen);
      if (found.length < BATCH) return removed;
      before = found.at(-1)!.slice(0, 26);
    }
  }

  /** How many entries are newer than the last one that was read; all of them when none was. */
  async unread(): Promise<number> {
    return this.#commands.unread(this.#keys);
  }

  /**
   * Remembers what was read; it never goes back to an older entry.
   *
   * @param id of the newest entry that was read; default: the newest that there is
   */
  async markRead(id?: string): Promise<void> {
    if (id !== undefined) checkId(id, 'Feed.markRead()', 'id');
    await this.#commands.mark(this.#keys, id ?? '', this.#definition.ttl);
  }

  /** How many entries there are. */
  async size(): Promise<number> {
    return this.#commands.size(this.#keys);
  }

  /** Drops the feed, and what was read of it. @returns whether there was one */
  async clear(): Promise<boolean> {
    return (await this.#commands.clear(this.#keys)) > 0;
  }

  async #page(before: string, size: number): Promise<string[]> {
    const { load } = this.#definition;
    if (load === undefined) return this.#commands.page(this.#keys, before, size);
    const [loaded, entries] = await this.#commands.loadedPage(this.#keys, before, size);
    if (loaded) return entries;
    await this.#loads.run(this.#keys[0], () => this.#fill(load));
    return this.#commands.page(this.#keys, before, size);
  }

  async #fill(load: FeedLoader): Promise<void> {
    const { max } = this.#definition;
    const items = await load({ max });
    if (!Array.isArray(items)) {
      throw new InvalidOptionsError('FeedService.feed()', [{ path: 'load', message: 'must give a list of entries' }]);
    }
    const entries = (items as readonly LoadedItem[])
      .map((each, n) => toText(each, `load()[${n}]`))
      .toSorted(descending);
    const kept = entries.slice(0, max);
    // The last script says that nothing is left to load: one that does not come leaves it to the next page.
    for (let start = 0; start === 0 || start < kept.length; start += BATCH) {
      const last = start + BATCH >= kept.length ? 1 : 0;
      const batch = kept.slice(start, start + BATCH);
      await this.#commands.push(this.#keys, this.#definition, 'keep', batch, last);
    }
  }
}

traceMethods(Feed, ['push', 'page', 'remove', 'removeIf', 'unread', 'markRead', 'size', 'clear'], {
  acts: ['markRead'],
});

/** @throws InvalidOptionsError */
export async function idOf(commands: FeedCommands, { id, at }: PushOptions, where: string): Promise<string> {
  if (id !== undefined) return checkId(id, where, 'id');
  return at === undefined ? commands.newId() : ulidAt(checkMoment(at, where, 'at'));
}

/** What happens to an entry with the same id: only a given id can have one. */
export function sameOf({ id }: PushOptions): 'new' | 'replace' {
  return id === undefined ? 'new' : 'replace';
}

function checkId(id: unknown, where: string, path: string): string {
  if (isUlid(id)) return id;
  throw new InvalidOptionsError(where, [{ path, message: 'must be an id of an entry, a ULID of 26 characters' }]);
}

function checkMoment(at: unknown, where: string, path: string): number {
  const ms = at instanceof Date ? at.getTime() : NaN;
  if (ms >= 0 && ms < 2 ** 48) return ms;
  throw new InvalidOptionsError(where, [{ path, message: 'must be a Date from 1970 on' }]);
}

function toText(loaded: LoadedItem, path: string): string {
  if (typeof loaded !== 'object' || loaded === null) {
    throw new InvalidOptionsError('FeedService.feed()', [{ path, message: 'must be { item, at } or { item, id }' }]);
  }
  const { item, id, at } = loaded;
  const text = encodeValue(item);
  if (id !== undefined) return checkId(id, 'FeedService.feed()', `${path}.id`) + text;
  return ulidOf(checkMoment(at, 'FeedService.feed()', `${path}.at`), text) + text;
}

function toEntry<Item>(text: string): FeedEntry<Item> {
  const id = text.slice(0, 26);
  return { id, at: new Date(timeOf(id)), item: decodeValue(text.slice(26)) as Item };
}

function descending(a: string, b: string): number {
  return a < b ? 1 : -1;
}
