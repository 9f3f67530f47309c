import { pack, type CompressionSettings, type ValueCodec } from '../codec/index.js';

/**
 * The text of an entry in Redis: one readable header line, then the payload.
 *
 * `~1;v=<version>;i=<id>;w=<stale ms>;d=<load ms>;s=<schema>;c=<codec>;z=<compression>;k=<n|u|e>;g=<tags>\n<payload>`
 *
 * The order is fixed, as scripts read the first ones. `v` is empty for an entry without version. An entry is fresh while it has
 * more than `w` to live. `k` marks `null` and `undefined`, which have no payload, and an
 * error that is remembered. `g` holds the tags with the tokens that they had
 * before the value was loaded. `z` is the compression of the payload and the bytes that it had before, `gzip:48213`; in memory
 * no payload is compressed.
 */
export interface Entry {
  readonly id: string;
  readonly staleMs: number;
  readonly schema: number;
  /** Milliseconds that its load took. */
  readonly loadMs: number;
  readonly compression: string;
  /** `<tag>=<token>,…`, see `tags.ts`. */
  readonly tags: string;
  readonly content: Content;
}

/** An encoded value: what is copied for each caller. */
export interface Content {
  readonly codec: string;
  readonly kind: '' | 'n' | 'u' | 'e';
  readonly payload: string;
  /** Reads it. */
  readonly values: ValueCodec;
}

export interface EntryFields {
  readonly id: string;
  readonly version: string;
  readonly loadMs: number;
  readonly schema: number;
  /** Milliseconds. */
  readonly staleMs: number;
  readonly tags: string;
}

const HEADER = /^~1;v=\d*;i=([^;]*);w=(\d+);d=(\d*);s=(\d+);c=([^;]*);z=([^;]*);k=([nue]?);g=([^\n]*)\n/;

/** A promise only for what is compressed on another thread. */
export function formatEntry(
  content: Content,
  fields: EntryFields,
  compression?: CompressionSettings,
): string | Promise<string> {
  if (compression === undefined) return join(content, fields, '', content.payload);
  const packed = pack(content.payload, compression);
  if ('payload' in packed) return join(content, fields, packed.compression, packed.payload);
  return packed.then(({ compression: z, payload }) => join(content, fields, z, payload));
}

function join({ codec, kind }: Content, fields: EntryFields, compression: string, payload: string): string {
  const { id, version, loadMs, schema, staleMs, tags } = fields;
  const form = `s=${schema};c=${codec};z=${compression};k=${kind}`;
  return `~1;v=${version};i=${id};w=${staleMs};d=${loadMs};${form};g=${tags}\n${payload}`;
}

/** The entry, its payload as it is stored, or `undefined` for text that is no entry of a form that this release knows. */
export function parseEntry(text: string, values: ValueCodec): Entry | undefined {
  const match = HEADER.exec(text);
  if (match === null) return undefined;
  return {
    id: match[1]!,
    staleMs: Number(match[2]),
    loadMs: Number(match[3]),
    schema: Number(match[4]),
    compression: match[6]!,
    tags: match[8]!,
    content: { codec: match[5]!, kind: match[7] as Content['kind'], payload: text.slice(match[0].length), values },
  };
}

/** The id by which scripts know a text, `''` for none, also where the rest of it is damaged. */
export function idOf(text: string): string {
  return /^~1;v=\d*;i=([^;]*);/.exec(text)?.[1] ?? '';
}

/** @throws CodecError when the value cannot be stored so that it comes back equal */
export function encodeContent(value: unknown, values: ValueCodec): Content {
  if (value === null) return { codec: 'json', kind: 'n', payload: '', values };
  if (value === undefined) return { codec: 'json', kind: 'u', payload: '', values };
  const { codec, text } = values.encode(value);
  return { codec, kind: '', payload: text, values };
}

/**
 * A copy of the value that belongs to the caller alone.
 *
 * @throws CodecError when the codec is unknown or the payload damaged
 */
export function decodeContent({ codec, kind, payload, values }: Content): unknown {
  if (kind !== '') return kind === 'n' ? null : undefined;
  return values.decode(codec, payload);
}

/** Whether this release can use the entry at all; whether it is fresh is another question. */
export function isUsable(entry: Entry, schemaVersion: number): boolean {
  return entry.schema === schemaVersion;
}
