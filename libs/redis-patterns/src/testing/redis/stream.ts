import { ReplyError } from './keyspace.js';

/** Milliseconds and number of an entry. */
type StreamId = readonly [ms: number, seq: number];

export interface StreamEntry {
  readonly id: StreamId;
  readonly fields: readonly string[];
}

export interface Pending {
  consumer: string;
  deliveredAt: number;
  deliveries: number;
}

export interface StreamGroup {
  lastId: StreamId;
  /** In the order of the ids. */
  readonly pending: Map<string, Pending>;
  /** When each consumer was heard of last. */
  readonly consumers: Map<string, number>;
  entriesRead: number;
}

const FIRST: StreamId = [0, 0];
const LAST: StreamId = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];

export function idText([ms, seq]: StreamId): string {
  return `${ms}-${seq}`;
}

export function compareIds(a: StreamId, b: StreamId): number {
  return a[0] - b[0] || a[1] - b[1];
}

/** @param missing the number where only milliseconds are given */
export function parseId(text: string, missing = 0): StreamId {
  const parts = /^(\d+)(?:-(\d+))?$/.exec(text);
  if (parts === null) throw new ReplyError('ERR Invalid stream ID specified as stream command argument');
  return [Number(parts[1]), parts[2] === undefined ? missing : Number(parts[2])];
}

/** Whether an id lies between two bounds as XRANGE takes them: `-`, `+`, `(id`, an id, or its milliseconds alone. */
export function between(start: string, end: string): (id: StreamId) => boolean {
  const [low, high] = [start.replace(/^\(/, ''), end.replace(/^\(/, '')];
  const from = low === '-' ? FIRST : low === '+' ? LAST : parseId(low);
  const to = high === '+' ? LAST : high === '-' ? FIRST : parseId(high, Number.MAX_SAFE_INTEGER);
  return (id) =>
    (start.startsWith('(') ? compareIds(id, from) > 0 : compareIds(id, from) >= 0) &&
    (end.startsWith('(') ? compareIds(id, to) < 0 : compareIds(id, to) <= 0);
}

/** A stream with its groups. */
export class MemoryStream {
  readonly entries: StreamEntry[] = [];
  readonly groups = new Map<string, StreamGroup>();
  lastId: StreamId = FIRST;
  added = 0;

  add(id: StreamId, fields: readonly string[]): void {
    if (compareIds(id, this.lastId) <= 0) {
      throw new ReplyError('ERR The ID specified in XADD is equal or smaller than the target stream top item');
    }
    this.entries.push({ id, fields });
    this.lastId = id;
    this.added++;
  }

  /** An id above all that there were. */
  nextId(now: number): StreamId {
    return now > this.lastId[0] ? [now, 0] : [this.lastId[0], this.lastId[1] + 1];
  }

  find(id: string): StreamEntry | undefined {
    return this.entries.find((entry) => idText(entry.id) === id);
  }

  delete(ids: readonly string[]): number {
    const before = this.entries.length;
    this.#keep((entry) => !ids.includes(idText(entry.id)));
    return before - this.entries.length;
  }

  trimToLength(length: number): number {
    return this.entries.splice(0, Math.max(0, this.entries.length - length)).length;
  }

  trimBelow(id: StreamId): number {
    const before = this.entries.length;
    this.#keep((entry) => compareIds(entry.id, id) >= 0);
    return before - this.entries.length;
  }

  #keep(isKept: (entry: StreamEntry) => boolean): void {
    this.entries.splice(0, this.entries.length, ...this.entries.filter((entry) => isKept(entry)));
  }
}

/** Sorts what is pending by its ids again, after something was put in. */
export function setPending(group: StreamGroup, id: string, pending: Pending): void {
  group.pending.set(id, pending);
  const sorted = [...group.pending].toSorted(([a], [b]) => compareIds(parseId(a), parseId(b)));
  group.pending.clear();
  for (const [key, value] of sorted) group.pending.set(key, value);
}
