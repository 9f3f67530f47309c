import type { EngineContext, RedisConnection } from '../connection/index.js';
import { runScript, sendScript } from '../scripting/index.js';
import type { CommandLimits } from './entry-store.js';
import { indexAddScript, indexListScript, reclaimScript } from './scripts.generated.js';
import { parseTags } from './tags.js';

/** Commands that go out together. */
const BATCH = 100;
/** Milliseconds for one batch: nobody waits for it. */
const STEP = 5_000;
/** Work that is kept for later; what comes on top is left to the time to live of the entries. */
const MAX_ADDITIONS = 10_000;
const MAX_RECLAIMS = 1_000;

interface Addition {
  readonly indexKey: string;
  readonly entryKey: string;
  /** Milliseconds that the entry lives. */
  readonly px: number;
}

interface Reclaim {
  readonly indexKey: string;
  readonly mark: string;
}

/**
 * Which entries were stored under a tag: to list them, and to delete them in the background when the tag has been
 * invalidated, so that they do not take up memory until their time is over. Whether an entry is valid is never asked here: each
 * part of an index may be lost.
 *
 * There is one for each token, so that what was stored before an invalidation and what is stored after it do not mix.
 */
export class TagIndex {
  readonly #connection: RedisConnection;
  readonly #prefix: string;
  readonly #closing = new AbortController();
  readonly #additions: Addition[] = [];
  readonly #reclaims: Reclaim[] = [];
  #working = false;

  constructor({ connection, keys }: EngineContext) {
    this.#connection = connection;
    this.#prefix = `${keys.namespace}:cache~index:`;
  }

  /** Notes an entry, in the background. `tags` as they stand in its header; `px` is milliseconds. */
  add(entryKey: string, tags: string, px: number): void {
    if (tags === '' || this.#additions.length >= MAX_ADDITIONS) return;
    for (const [tag, token] of parseTags(tags) ?? []) {
      this.#additions.push({ indexKey: this.#keyOf(tag, token), entryKey, px });
    }
    this.#start();
  }

  /** Deletes what was stored under a token that its tag has no more, in the background. */
  reclaim(tag: string, token: string): void {
    if (this.#reclaims.length >= MAX_RECLAIMS) return;
    this.#reclaims.push({ indexKey: this.#keyOf(tag, token), mark: `,${tag}=${token},` });
    this.#start();
  }

  /** Keys of entries that were stored under a token; they may be gone. */
  list(tag: string, token: string, limit: number, limits: CommandLimits): Promise<string[]> {
    return runScript(this.#connection, indexListScript, [this.#keyOf(tag, token)], [limit], limits);
  }

  close(): void {
    this.#closing.abort();
    this.#additions.length = 0;
    this.#reclaims.length = 0;
  }

  #keyOf(tag: string, token: string): string {
    return `${this.#prefix}${tag}:${token}`;
  }

  #start(): void {
    if (!this.#working && !this.#closing.signal.aborted) void this.#work();
  }

  /** One batch at a time, so that this never takes the room of calls that somebody waits for. What fails is left alone. */
  async #work(): Promise<void> {
    this.#working = true;
    while (!this.#closing.signal.aborted) {
      if (this.#additions.length > 0) await this.#add(this.#additions.splice(0, BATCH)).catch(() => {});
      else if (this.#reclaims.length === 0) break;
      else if (!(await this.#reclaimSome(this.#reclaims[0]!).catch(() => false))) this.#reclaims.shift();
    }
    this.#working = false;
  }

  async #add(additions: readonly Addition[]): Promise<void> {
    await this.#connection.run({
      name: indexAddScript.name,
      effect: indexAddScript.effect,
      key: additions[0]!.indexKey,
      ...this.#limits,
      send: (client) =>
        Promise.all(
          additions.map(({ indexKey, entryKey, px }) => sendScript(client, indexAddScript, [indexKey], [entryKey, px])),
        ),
    });
  }

  /** @returns whether there may be more */
  async #reclaimSome({ indexKey, mark }: Reclaim): Promise<boolean> {
    const popped = await this.#connection.run({
      name: 'cache.index-pop',
      effect: 'once',
      key: indexKey,
      ...this.#limits,
      send: (client) => client.zpopmin(indexKey, BATCH),
    });
    const entryKeys = popped.filter((_, position) => position % 2 === 0);
    if (entryKeys.length === 0) return false;
    await this.#connection.run({
      name: reclaimScript.name,
      effect: reclaimScript.effect,
      key: entryKeys[0]!,
      ...this.#limits,
      send: (client) => Promise.all(entryKeys.map((key) => sendScript(client, reclaimScript, [key], [mark]))),
    });
    return true;
  }

  get #limits(): CommandLimits {
    return { deadline: STEP, signal: this.#closing.signal };
  }
}
