import { codecById, CodecError, encodeCompact } from '../codec/index.js';

/**
 * The text of an entry in Redis: one readable header line, then the payload.
 *
 * `~1;v=<version>;i=<id>;w=<stale ms>;d=<load ms>;s=<schema>;c=<codec>;z=<compression>;k=<n|u>;g=<tags>\n<payload>`
 *
 * The order is fixed, as scripts read the first ones. `v` is empty for an entry without version. `k` marks `null` and
 * `undefined`, which have no payload. `w`, `z` and `g` are written empty (`w` as 0) by this release, and what it reads with
 * one of them it cannot judge, so that it is a miss.
 */
export interface Entry {
  readonly id: string;
  readonly staleMs: number;
  readonly schema: number;
  readonly compression: string;
  readonly tags: string;
  readonly content: Content;
}

/** An encoded value: what is copied for each caller. */
export interface Content {
  readonly codec: string;
  readonly kind: '' | 'n' | 'u';
  readonly payload: string;
}

export interface EntryFields {
  readonly id: string;
  readonly version: string;
  readonly loadMs: number;
  readonly schema: number;
}

const HEADER = /^~1;v=\d*;i=([^;]*);w=(\d+);d=\d*;s=(\d+);c=([^;]*);z=([^;]*);k=([nu]?);g=([^\n]*)\n/;

export function formatEntry(content: Content, { id, version, loadMs, schema }: EntryFields): string {
  const { codec, kind, payload } = content;
  return `~1;v=${version};i=${id};w=0;d=${loadMs};s=${schema};c=${codec};z=;k=${kind};g=\n${payload}`;
}

/** The entry, or `undefined` for text that is no entry of a form that this release knows. */
export function parseEntry(text: string): Entry | undefined {
  const match = HEADER.exec(text);
  if (match === null) return undefined;
  return {
    id: match[1]!,
    staleMs: Number(match[2]),
    schema: Number(match[3]),
    compression: match[5]!,
    tags: match[7]!,
    content: { codec: match[4]!, kind: match[6] as Content['kind'], payload: text.slice(match[0].length) },
  };
}

/** @throws CodecError when the value cannot be stored so that it comes back equal */
export function encodeContent(value: unknown): Content {
  if (value === null) return { codec: 'json', kind: 'n', payload: '' };
  if (value === undefined) return { codec: 'json', kind: 'u', payload: '' };
  const { codec, text } = encodeCompact(value);
  return { codec, kind: '', payload: text };
}

/**
 * A copy of the value that belongs to the caller alone.
 *
 * @throws CodecError when the codec is unknown or the payload damaged
 */
export function decodeContent({ codec, kind, payload }: Content): unknown {
  if (kind !== '') return kind === 'n' ? null : undefined;
  const known = codecById(codec);
  if (known === undefined) throw new CodecError('the entry was written with a codec that this release does not know');
  return known.decode(payload);
}

/** Whether this release can use the entry at all; whether it is fresh is another question. */
export function isUsable(entry: Entry, schemaVersion: number): boolean {
  return entry.schema === schemaVersion && entry.compression === '' && entry.tags === '';
}
