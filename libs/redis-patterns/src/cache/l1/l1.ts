import type { RedisConnection } from '../../connection/index.js';
import { deepFreeze } from '../../core/deep-freeze.js';
import type { ResolvedL1Options } from '../cache.options.js';
import { decodeContent, type Content } from '../entry.js';
import type { FoundValue } from '../entry-reader.js';
import { parseTags, type TagNames } from '../tags.js';
import { ChangeLog } from './change-log.js';
import { Feed } from './feed.js';
import { Lru } from './lru.js';

interface Copy {
  readonly content: Content;
  readonly tags: ReadonlyMap<string, string> | undefined;
  /** As `performance.now()` counts. */
  readonly until: number;
  /** For all callers, where they share one. */
  shared: { readonly value: unknown } | undefined;
}

/** About what a copy takes beside its text. */
const OVERHEAD = 200;

/**
 * Copies of entries in the memory of this process, filled by reads from Redis alone. With `tracking` Redis tells of every
 * change of an entry or a tag; copies are kept and used only while it does.
 */
export class L1 {
  readonly #copies: Lru<Copy>;
  /** Tokens of tags, as they are now. */
  readonly #tokens: Lru<string>;
  readonly #entryLog = new ChangeLog();
  readonly #tagLog = new ChangeLog();
  readonly #entries: Feed;
  readonly #tags: Feed;

  constructor(
    private readonly options: ResolvedL1Options,
    connection: RedisConnection,
    entryPrefix: string,
    private readonly tagPrefix: string,
  ) {
    this.#copies = new Lru(options.max, options.maxBytes);
    this.#tokens = new Lru(options.max);
    const tracking = options.coherence === 'tracking';
    this.#entries = new Feed(connection, entryPrefix, tracking, {
      changed: (keys) => (keys === null ? this.flush() : keys.forEach((key) => this.drop(key))),
    });
    this.#tags = new Feed(connection, tagPrefix, tracking, {
      changed: (keys) => {
        if (keys === null) this.#flushTags();
        else for (const key of keys) this.#dropTag(key.slice(this.tagPrefix.length));
      },
    });
  }

  get stats(): { size: number; bytes: number; armed: boolean } {
    return { size: this.#copies.count, bytes: this.#copies.size, armed: this.#entries.armed };
  }

  /** The moments to pass to {@link fill}, taken before the read is sent; `undefined` when no copy may be kept now. */
  moment(tags: TagNames): { entry: number; tag: number } | undefined {
    if (!this.#entries.armed || (tags.length > 0 && !this.#tags.armed)) return undefined;
    return { entry: this.#entryLog.now, tag: this.#tagLog.now };
  }

  /** The value of a copy that can be used now. */
  get(entryKey: string, required: TagNames): { readonly value: unknown } | undefined {
    if (!this.#entries.armed) return undefined;
    const copy = this.#copies.get(entryKey);
    if (copy === undefined) return undefined;
    if (copy.until <= performance.now()) {
      this.#copies.delete(entryKey);
      return undefined;
    }
    if (!this.#valid(copy, required)) return undefined;
    return copy.shared ?? this.#copy(copy);
  }

  /** Keeps what a read has found, unless it has changed since the read was sent. */
  fill(
    entryKey: string,
    { entry, freshMs = 0, tags, tokens }: FoundValue,
    since: { entry: number; tag: number },
  ): void {
    if (freshMs <= 0 || !this.#entries.armed || !this.#entryLog.unchangedSince(entryKey, since.entry)) return;
    const own = entry.tags === '' ? undefined : parseTags(entry.tags);
    if (own !== undefined) {
      if (!this.#tags.armed) return;
      for (const [index, tag] of tags.entries()) {
        const token = tokens[index];
        if (typeof token === 'string' && this.#tagLog.unchangedSince(tag, since.tag)) this.#tokens.set(tag, token);
      }
    }
    const until = performance.now() + Math.min(this.options.ttl, freshMs);
    const { content } = entry;
    const size = content.payload.length + entryKey.length + OVERHEAD;
    this.#copies.set(entryKey, { content, tags: own, until, shared: undefined }, size);
  }

  drop(entryKey: string): void {
    this.#entryLog.changed(entryKey);
    this.#copies.delete(entryKey);
  }

  dropTags(tags: TagNames): void {
    for (const tag of tags) this.#dropTag(tag);
  }

  flush(): void {
    this.#entryLog.everything();
    this.#copies.clear();
  }

  close(): void {
    this.#entries.close();
    this.#tags.close();
    this.flush();
    this.#flushTags();
  }

  #valid({ tags }: Copy, required: TagNames): boolean {
    if (tags === undefined) return required.length === 0;
    if (!this.#tags.armed) return false;
    for (const tag of required) if (!tags.has(tag)) return false;
    for (const [tag, token] of tags) if (this.#tokens.get(tag) !== token) return false;
    return true;
  }

  #copy(copy: Copy): { readonly value: unknown } {
    const { isolation } = this.options;
    const found = { value: decodeContent(copy.content) };
    // What is more than plain JSON cannot be frozen all the way: a Date or a Map has setters.
    if (isolation === 'none') copy.shared = found;
    if (isolation === 'freeze' && copy.content.codec === 'json') copy.shared = { value: deepFreeze(found.value) };
    return copy.shared ?? found;
  }

  #dropTag(tag: string): void {
    this.#tagLog.changed(tag);
    this.#tokens.delete(tag);
  }

  #flushTags(): void {
    this.#tagLog.everything();
    this.#tokens.clear();
  }
}
