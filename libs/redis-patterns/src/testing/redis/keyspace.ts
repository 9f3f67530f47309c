import type { MemoryStream } from './stream.js';

/** What Redis answers; a status is a text. */
export type Reply = string | number | null | Reply[];
export type SortedSet = Map<string, number>;

/** An error as Redis words it. */
export class ReplyError extends Error {
  override readonly name = 'ReplyError';
}

export interface ValueTypes {
  string: string;
  hash: Map<string, string>;
  list: string[];
  set: Set<string>;
  zset: SortedSet;
  hyperloglog: Set<string>;
  stream: MemoryStream;
}
type TypeName = keyof ValueTypes;

interface Entry {
  readonly type: TypeName;
  value: ValueTypes[TypeName];
  /** Milliseconds of the epoch. */
  expiresAt: number | undefined;
}

const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';

/** Keys with their values and times to live. Its clock is the one of `Date`, so that fake timers of a test move it. */
export class Keyspace {
  readonly #entries = new Map<string, Entry>();
  #lastTick = 0;

  /** Microseconds, no two of them the same. */
  tick(): number {
    this.#lastTick = Math.max(this.now * 1000, this.#lastTick + 1);
    return this.#lastTick;
  }

  get now(): number {
    return new Date().getTime();
  }

  entry(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry?.expiresAt === undefined || entry.expiresAt > this.now) return entry;
    this.#entries.delete(key);
    return undefined;
  }

  /** @throws ReplyError when the key has a value of another type */
  get<Type extends TypeName>(type: Type, key: string): ValueTypes[Type] | undefined {
    const entry = this.entry(key);
    if (entry !== undefined && entry.type !== type) throw new ReplyError(WRONG_TYPE);
    return entry?.value as ValueTypes[Type] | undefined;
  }

  /** The value, made where there is none. */
  open<Type extends TypeName>(type: Type, key: string, make: () => ValueTypes[Type]): ValueTypes[Type] {
    const found = this.get(type, key);
    if (found !== undefined) return found;
    const value = make();
    this.#entries.set(key, { type, value, expiresAt: undefined });
    return value;
  }

  setText(key: string, value: string, expiresAt?: number): void {
    this.#entries.set(key, { type: 'string', value, expiresAt });
  }

  /** Keeps the time to live. */
  changeText(key: string, value: string): void {
    this.open('string', key, () => '');
    this.entry(key)!.value = value;
  }

  delete(key: string): boolean {
    const existed = this.entry(key) !== undefined;
    this.#entries.delete(key);
    return existed;
  }

  /** A collection without members is no key. */
  deleteIfEmpty(key: string, size: number): void {
    if (size === 0) this.#entries.delete(key);
  }

  keys(): string[] {
    return [...this.#entries.keys()].filter((key) => this.entry(key) !== undefined);
  }

  clear(): void {
    this.#entries.clear();
  }
}
