import { randomBytes } from 'node:crypto';
import type { CompressionSettings } from '../codec/index.js';
import type { EngineContext, RedisClient, RedisConnection } from '../connection/index.js';
import type { Key, KeyBuilder } from '../keys/index.js';
import { runScript } from '../scripting/index.js';
import { formatEntry, type Content } from './entry.js';
import type { EntryRead, Question, RawEntry } from './entry-read.js';
import { ReadBatch } from './read-batch.js';
import {
  abortScript,
  beginScript,
  commitScript,
  evictScript,
  expireScript,
  putScript,
  renewScript,
} from './scripts.generated.js';
import type { TagIndex } from './tag-index.js';
import { TagStore, type TagLifetimes } from './tag-store.js';
import { NO_TOKENS, type TagNames } from './tags.js';

const READ_BATCH = 500;

/** Limits of one command. `deadline` is milliseconds. */
export interface CommandLimits {
  readonly deadline: number;
  readonly signal?: AbortSignal;
  /** Wait inside the deadline for a connection that is not ready. */
  readonly wait?: boolean;
}

export interface NewEntry {
  readonly content: Content;
  readonly version: string;
  readonly loadMs: number;
  /** Milliseconds, at least 1. */
  readonly freshMs: number;
  /** How long a copy stays after that, milliseconds. */
  readonly staleMs: number;
  /** Tags and tokens, as `formatTags` writes them. */
  readonly tags: string;
}

/** The commands of the cache: keys, scripts and the form of entries, without any decision. */
export class EntryStore {
  readonly #connection: RedisConnection;
  readonly #keys: KeyBuilder;
  readonly #processToken = randomBytes(9).toString('base64url');
  #tokens = 0;
  readonly tags: TagStore;
  readonly #batch = new ReadBatch((keys, deadline) =>
    this.#connection.run({
      name: 'cache.get',
      effect: 'read',
      key: keys[0]!,
      deadline,
      send: (client) => client.mget(keys),
    }),
  );

  constructor(
    context: EngineContext,
    private readonly schemaVersion: number,
    lifetimes: TagLifetimes,
    private readonly compression?: CompressionSettings,
    private readonly index?: TagIndex,
  ) {
    this.#connection = context.connection;
    this.#keys = context.keys;
    this.tags = new TagStore(context, lifetimes, () => this.newToken(), index);
  }

  /** @throws InvalidKeyError */
  keyOf(key: Key): string {
    return this.#keys.main('cache', key);
  }

  /** A text that no other load or entry has, here or elsewhere. */
  newToken(): string {
    return this.#processToken + (this.#tokens++).toString(36);
  }

  /** The entry and the tokens of tags, in one round trip, which those who ask in the same turn share. */
  read<T>(read: EntryRead<T>): Promise<T> {
    const batch = this.#batch;
    const { key, tags, pttl, deadline } = read;
    // In a Cluster the keys of one command share a slot.
    if (!pttl && this.#connection.mode !== 'cluster' && !batch.isAlone(deadline)) {
      const entry = batch.add(key, this.#tagKeys(tags), deadline);
      return entry.then(
        (raw) => read.answered(raw),
        (error: unknown) => read.failed(error),
      );
    }
    return this.#connection.run(read.leave(batch, this.#ask));
  }

  #tagKeys(tags: TagNames): string[] {
    return tags.map((tag) => this.tags.keyOf(tag));
  }

  /** The same for many entries. In a Cluster each of their masters gets its own. */
  async readMany(entryKeys: readonly string[], { tags, pttl }: Question, limits: CommandLimits): Promise<RawEntry[]> {
    const lists: Promise<RawEntry[]>[] = [];
    for (let start = 0; start < entryKeys.length; start += READ_BATCH) {
      const keys = entryKeys.slice(start, start + READ_BATCH);
      const tagKeys = this.#tagKeys(tags);
      const send = async (client: RedisClient): Promise<RawEntry[]> => {
        const left = pttl ? Promise.all(keys.map((key) => client.pttl(key))) : undefined;
        const [texts, lifetimes] = await Promise.all([this.#getAll(client, [...keys, ...tagKeys]), left]);
        const tokens = texts.slice(keys.length);
        return keys.map((_, index) => ({ text: texts[index]!, pttl: lifetimes?.[index], tokens }));
      };
      lists.push(this.#connection.run({ name: 'cache.getMany', effect: 'read', key: keys[0]!, ...limits, send }));
    }
    return (await Promise.all(lists)).flat();
  }

  readonly #ask = async (client: RedisClient, entryKey: string, { tags, pttl }: Question): Promise<RawEntry> => {
    // Before the entry is read: a newer entry with the time of an older one is stale too early, not too late.
    const left = pttl ? client.pttl(entryKey) : undefined;
    if (tags.length === 0) {
      const [text, ms] = await Promise.all([client.get(entryKey), left]);
      return { text, pttl: ms, tokens: NO_TOKENS };
    }
    const reply = this.#getAll(client, [entryKey, ...this.#tagKeys(tags)]);
    const [texts, ms] = left === undefined ? [await reply, undefined] : await Promise.all([reply, left]);
    return { text: texts[0]!, pttl: ms, tokens: texts.slice(1) };
  };

  #getAll(client: RedisClient, keys: string[]): Promise<(string | null)[]> {
    // In a Cluster one command has the keys of one slot; those of one turn go out together all the same.
    return this.#connection.mode === 'cluster' ? Promise.all(keys.map((key) => client.get(key))) : client.mget(keys);
  }

  begin(
    entryKey: string,
    token: string,
    leaseMs: number,
    seenId: string,
    limits: CommandLimits & { onLate?: () => void },
  ) {
    const keys = [entryKey, this.#leaseOf(entryKey)] as [string, string];
    return runScript(this.#connection, beginScript, keys, [token, leaseMs, seenId, this.schemaVersion], limits);
  }

  /** @returns whether the entry was stored */
  async commit(entryKey: string, token: string, entry: NewEntry, limits: CommandLimits): Promise<boolean> {
    const keys = [entryKey, this.#leaseOf(entryKey)] as [string, string];
    const text = this.#format(entry);
    // Not awaited without need: commands of one turn go out together.
    const args = [token, typeof text === 'string' ? text : await text, entry.freshMs + entry.staleMs] as [
      string,
      string,
      number,
    ];
    return this.#noted(entryKey, entry, (await runScript(this.#connection, commitScript, keys, args, limits)) === 1);
  }

  /** @returns whether the lease was still that of the token */
  async abort(entryKey: string, token: string, backoffMs: number, limits: CommandLimits): Promise<boolean> {
    return (
      (await runScript(this.#connection, abortScript, [this.#leaseOf(entryKey)], [token, backoffMs], limits)) === 1
    );
  }

  /** @returns whether the lease was still that of the token */
  async renew(entryKey: string, token: string, leaseMs: number, limits: CommandLimits): Promise<boolean> {
    return (await runScript(this.#connection, renewScript, [this.#leaseOf(entryKey)], [token, leaseMs], limits)) === 1;
  }

  /** @returns whether the entry was stored */
  async put(entryKey: string, entry: NewEntry, limits: CommandLimits): Promise<boolean> {
    const keys = [entryKey, this.#leaseOf(entryKey)] as [string, string];
    const text = this.#format(entry);
    const args = [
      typeof text === 'string' ? text : await text,
      entry.freshMs + entry.staleMs,
      entry.version,
      this.schemaVersion,
    ] as [string, number, string, number];
    return this.#noted(entryKey, entry, (await runScript(this.#connection, putScript, keys, args, limits)) === 1);
  }

  /** @returns whether there was an entry */
  async evict(entryKey: string, quarantineMs: number, limits: CommandLimits): Promise<boolean> {
    const keys = [entryKey, this.#leaseOf(entryKey)] as [string, string];
    return (await runScript(this.#connection, evictScript, keys, [quarantineMs], limits)) === 1;
  }

  /** @returns whether there was an entry */
  async expire(entryKey: string, limits: CommandLimits): Promise<boolean> {
    const keys = [entryKey, this.#leaseOf(entryKey)] as [string, string];
    return (await runScript(this.#connection, expireScript, keys, [], limits)) === 1;
  }

  #noted(entryKey: string, { tags, freshMs, staleMs }: NewEntry, stored: boolean): boolean {
    if (stored) this.index?.add(entryKey, tags, freshMs + staleMs);
    return stored;
  }

  #leaseOf(entryKey: string): string {
    return this.#keys.companion('cache', 'lease', entryKey);
  }

  #format({ content, version, loadMs, staleMs, tags }: NewEntry): string | Promise<string> {
    const fields = { id: this.newToken(), version, loadMs, schema: this.schemaVersion, staleMs, tags };
    // What is remembered of an error is short, and read without a look at its compression.
    return formatEntry(content, fields, content.kind === 'e' ? undefined : this.compression);
  }
}
