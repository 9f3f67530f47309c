import { randomBytes } from 'node:crypto';
import type { EngineContext, RedisConnection } from '../connection/index.js';
import type { Key, KeyBuilder } from '../keys/index.js';
import { runScript } from '../scripting/index.js';
import { formatEntry, type Content } from './entry.js';
import {
  abortScript,
  beginScript,
  commitScript,
  evictScript,
  expireScript,
  putScript,
  renewScript,
} from './scripts.generated.js';

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
  /** Time to live, milliseconds, at least 1. */
  readonly ttl: number;
}

/** The commands of the cache: keys, scripts and the form of entries, without any decision. */
export class EntryStore {
  readonly #connection: RedisConnection;
  readonly #keys: KeyBuilder;
  readonly #processToken = randomBytes(9).toString('base64url');
  #tokens = 0;

  constructor(
    context: EngineContext,
    private readonly schemaVersion: number,
  ) {
    this.#connection = context.connection;
    this.#keys = context.keys;
  }

  /** @throws InvalidKeyError */
  keyOf(key: Key): string {
    return this.#keys.main('cache', key);
  }

  /** A text that no other load or entry has, here or elsewhere. */
  newToken(): string {
    return this.#processToken + (this.#tokens++).toString(36);
  }

  read(entryKey: string, limits: CommandLimits): Promise<string | null> {
    return this.#connection.run({
      name: 'cache.get',
      effect: 'read',
      key: entryKey,
      ...limits,
      send: (client) => client.get(entryKey),
    });
  }

  /** The entry and the milliseconds it has left. */
  readWithTtl(entryKey: string, limits: CommandLimits): Promise<[string | null, number]> {
    return this.#connection.run({
      name: 'cache.ttl',
      effect: 'read',
      key: entryKey,
      ...limits,
      send: (client) => Promise.all([client.get(entryKey), client.pttl(entryKey)]),
    });
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
    const args = [token, this.#format(entry), entry.ttl] as [string, string, number];
    return (await runScript(this.#connection, commitScript, keys, args, limits)) === 1;
  }

  /** @returns whether the lease was still that of the token */
  async abort(entryKey: string, token: string, limits: CommandLimits): Promise<boolean> {
    return (await runScript(this.#connection, abortScript, [this.#leaseOf(entryKey)], [token], limits)) === 1;
  }

  /** @returns whether the lease was still that of the token */
  async renew(entryKey: string, token: string, leaseMs: number, limits: CommandLimits): Promise<boolean> {
    return (await runScript(this.#connection, renewScript, [this.#leaseOf(entryKey)], [token, leaseMs], limits)) === 1;
  }

  /** @returns whether the entry was stored */
  async put(entryKey: string, entry: NewEntry, limits: CommandLimits): Promise<boolean> {
    const keys = [entryKey, this.#leaseOf(entryKey)] as [string, string];
    const args = [this.#format(entry), entry.ttl, entry.version, this.schemaVersion] as [
      string,
      number,
      string,
      number,
    ];
    return (await runScript(this.#connection, putScript, keys, args, limits)) === 1;
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

  #leaseOf(entryKey: string): string {
    return this.#keys.companion('cache', 'lease', entryKey);
  }

  #format({ content, version, loadMs }: NewEntry): string {
    return formatEntry(content, { id: this.newToken(), version, loadMs, schema: this.schemaVersion });
  }
}
