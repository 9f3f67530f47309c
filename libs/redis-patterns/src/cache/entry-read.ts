import type { Operation, RedisClient } from '../connection/index.js';
import type { ReadBatch } from './read-batch.js';
import { NO_TOKENS, type TagNames, type Token } from './tags.js';

/** What a read asks for beside the entry. */
export interface Question {
  readonly tags: TagNames;
  /** Whether the time that the entry has left is needed. */
  readonly pttl: boolean;
}

/** What Redis has of an entry. */
export interface RawEntry {
  readonly text: string | null;
  /** Milliseconds left, as PTTL counts; `undefined` when it was not asked for. */
  readonly pttl: number | undefined;
  /** Of the tags that were asked for, in their order. */
  readonly tokens: readonly Token[];
}

/** Asks for all that the question needs. */
type Ask = (client: RedisClient, entryKey: string, question: Question) => Promise<RawEntry>;

/**
 * The read of one entry, from the question to what becomes of the answer. One object is all that it costs: half of what a lone
 * hit takes beyond a bare GET was the memory of the closures and promises between the steps.
 */
export abstract class EntryRead<T> implements Question, Operation<RawEntry | string | null, T> {
  private batch: ReadBatch | undefined;
  private ask: Ask | undefined;

  constructor(
    readonly key: string,
    readonly tags: TagNames,
    readonly pttl: boolean,
    /** Milliseconds. */
    readonly deadline: number,
  ) {}

  get name(): string {
    return 'cache.get';
  }

  get effect(): 'read' {
    return 'read';
  }

  /** What becomes of the answer. */
  abstract answered(raw: RawEntry): T | Promise<T>;

  /** What becomes of a failure. */
  abstract failed(error: unknown): T | Promise<T>;

  /** It goes alone. */
  leave(batch: ReadBatch, ask: Ask): this {
    batch.underWay++;
    this.batch = batch;
    this.ask = ask;
    return this;
  }

  send(client: RedisClient): Promise<RawEntry | string | null> {
    const { key, tags, pttl } = this;
    return tags.length === 0 && !pttl ? client.get(key) : this.ask!(client, key, this);
  }

  onReply(reply: RawEntry | string | null): T | Promise<T> {
    this.batch!.underWay--;
    if (reply !== null && typeof reply === 'object') return this.answered(reply);
    return this.answered({ text: reply, pttl: undefined, tokens: NO_TOKENS });
  }

  onFailure(error: Error): T | Promise<T> {
    this.batch!.underWay--;
    return this.failed(error);
  }
}
