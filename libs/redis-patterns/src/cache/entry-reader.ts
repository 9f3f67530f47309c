import { decodeContent, isUsable, parseEntry, type Content } from './entry.js';
import type { EntryStore } from './entry-store.js';
import { isRedisFailure } from './redis-failure.js';
import type { TimeBudget } from './time-budget.js';

/** A value that was found: a private copy, and what to make further ones of. */
export interface FoundValue {
  readonly state: 'hit';
  readonly value: unknown;
  readonly content: Content;
}

/** `seenId` is the id of an entry that is there and cannot be used, or `''`. */
export interface Miss {
  readonly state: 'miss';
  readonly seenId: string;
}

/** What a read has found; `offline`: Redis does not answer. */
export type Found = FoundValue | Miss | { readonly state: 'offline' };

const NOTHING: Miss = { state: 'miss', seenId: '' };
const OFFLINE: Found = { state: 'offline' };

/** Reads entries, and judges whether they can be used. */
export class EntryReader {
  constructor(
    private readonly store: EntryStore,
    private readonly schemaVersion: number,
  ) {}

  async read(entryKey: string, budget: TimeBudget): Promise<Found> {
    const text = await online(budget.spend((deadline) => this.store.read(entryKey, { deadline })));
    if (text === undefined) return OFFLINE;
    // Whether an entry with a stale time is fresh depends on the time it has left: a load will see.
    return text === null ? NOTHING : this.judge(text, { stale: false });
  }

  /** Milliseconds that the entry is still fresh; `undefined` when it is not, or Redis does not answer. */
  async freshFor(entryKey: string, budget: TimeBudget): Promise<number | undefined> {
    const reply = await online(budget.spend((deadline) => this.store.readWithTtl(entryKey, { deadline })));
    const [text, ttl] = reply ?? [null, 0];
    if (text === null || ttl <= 0) return undefined;
    return this.judge(text, { stale: false }).state === 'hit' ? ttl : undefined;
  }

  /** @param options `stale`: whether an entry that may have gone stale counts as well */
  judge(text: string, { stale }: { stale: boolean }): FoundValue | Miss {
    const entry = parseEntry(text);
    if (entry === undefined) return NOTHING;
    const unusable: Miss = { state: 'miss', seenId: entry.id };
    if (!isUsable(entry, this.schemaVersion)) return unusable;
    if (entry.staleMs > 0 && !stale) return NOTHING;
    try {
      return { state: 'hit', value: decodeContent(entry.content), content: entry.content };
    } catch {
      return unusable;
    }
  }
}

/** What Redis answers; `undefined` when it does not. */
async function online<T>(reply: Promise<T>): Promise<T | undefined> {
  try {
    return await reply;
  } catch (error) {
    if (isRedisFailure(error)) return undefined;
    throw error;
  }
}
