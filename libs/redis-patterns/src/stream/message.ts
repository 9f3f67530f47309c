/** Field names of an entry, always all and in this order: Redis then stores them once for many entries. */
export const FIELD_NAMES = ['type', 'data', 'mid', 'key', 'headers'] as const;

/** An entry as Redis gives it: names and values in turn. */
export type RawFields = readonly string[];

/** What an entry says, its payload not decoded yet. */
export interface RawMessage {
  readonly type: string | undefined;
  readonly data: string | undefined;
  readonly messageId: string | undefined;
  readonly key: string | undefined;
  readonly headers: string;
}

export interface MessageInput {
  readonly type: string | undefined;
  readonly data: string;
  readonly messageId: string;
  readonly key: string | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
}

export function toFields({ type, data, messageId, key, headers }: MessageInput): string[] {
  const headersText = headers === undefined ? '' : JSON.stringify(headers);
  return ['type', type ?? '', 'data', data, 'mid', messageId, 'key', key ?? '', 'headers', headersText];
}

/** Reads an entry of our producers, or of anything else that writes these fields, in any order. */
export function readFields(fields: RawFields): RawMessage {
  if (isOrdered(fields)) return toMessage(fields[1], fields[3], fields[5], fields[7], fields[9]);
  const [type, data, mid, key, headers] = FIELD_NAMES.map((name) => valueOf(fields, name));
  return toMessage(type, data, mid, key, headers);
}

/** As our producers write them: on the path of every message. */
function isOrdered(fields: RawFields): boolean {
  return (
    fields[0] === 'type' &&
    fields[2] === 'data' &&
    fields[4] === 'mid' &&
    fields[6] === 'key' &&
    fields[8] === 'headers'
  );
}

function toMessage(type?: string, data?: string, messageId?: string, key?: string, headers = ''): RawMessage {
  return { type: type || undefined, data, messageId: messageId || undefined, key: key || undefined, headers };
}

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze(Object.create(null));

export function decodeHeaders(text: string): Readonly<Record<string, string>> {
  if (text === '') return NO_HEADERS;
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== 'object' || parsed === null) throw new SyntaxError("the field 'headers' holds no object");
  return Object.assign(Object.create(null) as Record<string, string>, parsed);
}

function valueOf(fields: RawFields, name: string): string | undefined {
  for (let index = 0; index < fields.length; index += 2) if (fields[index] === name) return fields[index + 1];
  return undefined;
}

/** An entry of a reply of XREADGROUP. */
export interface ReadEntry {
  readonly id: string;
  readonly fields: RawFields;
}

/** Entries of a reply of XREADGROUP by key: arrays under RESP2, a map where `replyMapping` is `'resp3'`. */
export function readReply(reply: unknown): [key: string, entries: ReadEntry[]][] {
  if (reply === null || reply === undefined) return [];
  const parts = Array.isArray(reply) ? (reply as [string, unknown][]) : Object.entries(reply as object);
  return parts.map(([key, entries]) => [key, toEntries(entries)]);
}

function toEntries(entries: unknown): ReadEntry[] {
  if (!Array.isArray(entries)) return [];
  return (entries as [string, RawFields | Record<string, string> | null][])
    .filter(([, fields]) => fields !== null)
    .map(([id, fields]) => ({ id, fields: toArray(fields!) }));
}

/** What the retry plane notes of an entry beside its own fields. */
export interface RetryNotes {
  /** Id in the stream. */
  readonly originalId: string;
  /** Attempts that have failed. */
  readonly attempt: number;
  /** Starts that never came to an end. */
  readonly deliveries: number;
}

export function readNotes(fields: RawFields, id: string): RetryNotes {
  return {
    originalId: valueOf(fields, 'x-original-id') ?? id,
    attempt: Number(valueOf(fields, 'x-attempt') ?? 0),
    deliveries: Number(valueOf(fields, 'x-deliveries') ?? 0),
  };
}

/** Names and values in turn, as an object: for replies of XINFO. */
export function toRecord(reply: unknown): Record<string, unknown> {
  if (!Array.isArray(reply)) return reply as Record<string, unknown>;
  const record: Record<string, unknown> = {};
  for (let index = 0; index < reply.length; index += 2) record[String(reply[index])] = reply[index + 1];
  return record;
}

function toArray(fields: RawFields | Record<string, string>): RawFields {
  return Array.isArray(fields) ? (fields as RawFields) : Object.entries(fields).flat();
}
