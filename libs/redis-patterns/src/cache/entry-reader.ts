import { unpack } from '../codec/index.js';
import type { ResolvedCacheOptions } from './cache.options.js';
import { decodeContent, isUsable, idOf, parseEntry, type Entry } from './entry.js';
import { EntryRead, type Question, type RawEntry } from './entry-read.js';
import type { EntryStore } from './entry-store.js';
import { parseFailure, type CacheLoadFailure } from './load-failure.js';
import { isRedisFailure } from './redis-failure.js';
import { judgeTags, unionOfTags, type TagNames } from './tags.js';
import type { TimeBudget } from './time-budget.js';

/** A value that was found: a private copy, and what to make further ones of. `'stale'`: its fresh time is over. */
export interface FoundValue {
  readonly state: 'hit' | 'stale';
  readonly value: unknown;
  readonly entry: Entry;
  /** Milliseconds that it stays fresh; `undefined` when that was not asked for. */
  readonly freshMs: number | undefined;
  /** Tags whose tokens were asked for, and the tokens: all of the entry are among them. */
  readonly tags: TagNames;
  readonly tokens: RawEntry['tokens'];
}

/** `seenId` is the id of an entry that is there and cannot be used, or `''`. */
export interface Miss {
  readonly state: 'miss';
  readonly seenId: string;
  /** The entry remembers that a load has failed: for callers who want to know that it is no miss. */
  readonly failure?: CacheLoadFailure | undefined;
}

/** What a read has found; `offline`: Redis does not answer, or must not be asked. */
export type Found = FoundValue | Miss | { readonly state: 'offline' };

/** It cannot be judged before this is known. */
interface Unclear {
  readonly state: 'ask';
  readonly question: Question;
}

const NOTHING: Miss = { state: 'miss', seenId: '' };
export const OFFLINE: Found = { state: 'offline' };
/** An entry that changes its tags each time that it is looked at is a miss. */
const MAX_LOOKS = 3;

/** What a caller makes of what was found. */
type Use<T> = (found: Found) => T | Promise<T>;

/** Reads entries, and judges whether they can be used. */
export class EntryReader {
  constructor(
    private readonly store: EntryStore,
    private readonly options: Pick<ResolvedCacheOptions, 'schemaVersion' | 'values' | 'compression'>,
    /** Tags whose invalidation Redis has not been told of. */
    private readonly isInvalid: (tag: string) => boolean,
  ) {}

  read<T>(entryKey: string, { tags, pttl }: Question, budget: TimeBudget, use: Use<T>): Promise<T> {
    return this.store.read(new JudgedRead(this, entryKey, tags, pttl, budget, use));
  }

  async readMany(entryKeys: readonly string[], question: Question, budget: TimeBudget): Promise<Found[]> {
    const raws = await online(budget.spend((deadline) => this.store.readMany(entryKeys, question, { deadline })));
    if (raws === undefined) return entryKeys.map(() => OFFLINE);
    const verdicts = await Promise.all(raws.map((raw) => Promise.resolve(this.judge(raw, question, question.tags))));
    const unclear = verdicts.flatMap((verdict, index) => (verdict.state === 'ask' ? [index] : []));
    if (unclear.length > 0) {
      // One more round trip for all of them, and after that each one for itself, which hardly happens.
      const wider: Question = {
        tags: unclear.reduce((tags, index) => widen(tags, verdicts[index]!), question.tags),
        pttl: true,
      };
      const again = await online(
        budget.spend((deadline) =>
          this.store.readMany(
            unclear.map((index) => entryKeys[index]!),
            wider,
            { deadline },
          ),
        ),
      );
      for (const [position, index] of unclear.entries()) {
        verdicts[index] = again === undefined ? NOTHING : await this.judge(again[position]!, wider, question.tags);
      }
    }
    return verdicts.map((verdict) => (verdict.state === 'ask' ? NOTHING : verdict));
  }

  /** Judges what was read, and asks for what is still needed for that: the tokens of tags that the caller does not know. */
  async settle(entryKey: string, raw: RawEntry, question: Question, budget: TimeBudget): Promise<Found> {
    let verdict = await this.judge(raw, question, question.tags);
    for (let looks = 1; verdict.state === 'ask'; looks++) {
      if (looks === MAX_LOOKS) return NOTHING;
      const wider = verdict.question;
      const again = await online(
        budget.spend((deadline) => this.store.read(new BareRead(entryKey, wider.tags, wider.pttl, deadline))),
      );
      if (again === undefined) return OFFLINE;
      verdict = await this.judge(again, wider, question.tags);
    }
    return verdict;
  }

  /** A promise only for what is decompressed on another thread. */
  judge({ text, pttl, tokens }: RawEntry, { tags }: Question, required: TagNames): Found | Unclear | Promise<Found> {
    if (text === null) return NOTHING;
    const entry = parseEntry(text, this.options.values);
    if (entry === undefined) return { state: 'miss', seenId: idOf(text) };
    const unusable: Miss = { state: 'miss', seenId: entry.id };
    if (!isUsable(entry, this.options.schemaVersion)) return unusable;
    const valid = judgeTags(entry.tags, tags, tokens, required);
    if (valid === false) return unusable;
    const unknownLife = entry.staleMs > 0 && pttl === undefined;
    if (valid !== true || unknownLife) {
      return {
        state: 'ask',
        question: { tags: valid === true ? tags : unionOfTags(tags, valid), pttl: pttl !== undefined || unknownLife },
      };
    }
    if (tags.some(this.isInvalid)) return OFFLINE;
    if (entry.content.kind === 'e') return { ...unusable, failure: parseFailure(entry.content.payload) };
    const freshMs = pttl === undefined ? undefined : pttl - entry.staleMs;
    const state = entry.staleMs > 0 && freshMs! <= 0 ? 'stale' : 'hit';
    try {
      const { compression } = entry;
      if (compression === '') return { state, value: decodeContent(entry.content), entry, freshMs, tags, tokens };
      const finish = (payload: string): Found => {
        const content = { ...entry.content, payload };
        return { state, value: decodeContent(content), entry: { ...entry, content }, freshMs, tags, tokens };
      };
      const unpacked = unpack({ compression, payload: entry.content.payload }, this.options.compression?.maxOutput);
      return typeof unpacked === 'string' ? finish(unpacked) : unpacked.then(finish).catch(() => unusable);
    } catch {
      return unusable;
    }
  }
}

/** A read whose answer is judged, and then given to the caller. */
class JudgedRead<T> extends EntryRead<T> {
  private readonly sentAt = performance.now();

  constructor(
    private readonly reader: EntryReader,
    key: string,
    tags: TagNames,
    pttl: boolean,
    private readonly budget: TimeBudget,
    private readonly use: Use<T>,
  ) {
    super(key, tags, pttl, budget.deadline);
  }

  answered(raw: RawEntry): T | Promise<T> {
    const { reader, budget, use } = this;
    const verdict = reader.judge(raw, this, this.tags);
    if ('then' in verdict) return verdict.then(use);
    if (verdict.state === 'hit') return use(verdict);
    budget.charge(this.sentAt);
    return verdict.state === 'ask' ? reader.settle(this.key, raw, this, budget).then(use) : use(verdict);
  }

  failed(error: unknown): T | Promise<T> {
    this.budget.charge(this.sentAt);
    if (isRedisFailure(error)) return this.use(OFFLINE);
    throw error;
  }
}

/** A read that gives what Redis has. */
class BareRead extends EntryRead<RawEntry> {
  answered(raw: RawEntry): RawEntry {
    return raw;
  }

  failed(error: unknown): never {
    throw error;
  }
}

function widen(tags: TagNames, verdict: Found | Unclear): TagNames {
  return verdict.state === 'ask' ? unionOfTags(tags, verdict.question.tags) : tags;
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
