import type { ClassTypes } from './class-types.js';
import type { Codec } from './codec.js';
import { CodecError } from './codec.errors.js';
import { parseJson, parseTypedJson } from './decode.js';
import { markTypes } from './encode.js';
import { isPlainJson } from './plain.js';

/**
 * Text of a value, readable in redis-cli: JSON, in which what JSON lacks is marked, `{"$":"date","v":"2026-11-30T…"}`.
 * Kept exactly: everything of JSON, `undefined`, NaN, ±Infinity, -0, bigint, Date (also invalid), Map, Set, Buffer,
 * Uint8Array, instances of the given classes, nested to 500 levels. A text that looks like a date stays text. An object
 * without prototype comes back as an ordinary one; further properties of an array, Date, Map, Set or Buffer are not part of
 * the value. What stands in two places comes back as two equal copies.
 *
 * @param types classes whose instances are kept; reading needs them as well
 * @throws CodecError naming the place of a function, symbol, cycle, other class instance, hole, symbol or `__proto__` key
 *
 * @example
 * ```ts
 * decodeValue(encodeValue({ at: new Date(0), tags: new Set(['a']) })); // { at: Date, tags: Set }
 * ```
 */
export function encodeValue(value: unknown, types?: ClassTypes): string {
  return encodeCompact(value, types).text;
}

/**
 * The value of a text that {@link encodeValue} wrote, a private copy each time. No text can touch a prototype.
 *
 * @throws CodecError when the text is cut short or was written by something else
 */
export function decodeValue(text: string, types?: ClassTypes): unknown {
  return parseTypedJson(text, types);
}

/** JSON alone: values that need no marks. The fastest to read. */
export const jsonCodec: Codec = {
  id: 'json',
  encode(value) {
    if (isPlainJson(value)) return JSON.stringify(value);
    markTypes(value); // throws for what no codec can write, and then names the place
    throw new CodecError("the value holds what JSON lacks (a Date, Map, undefined, …); use the codec 'json+'");
  },
  decode: parseJson,
};

/** JSON with marks, see {@link encodeValue}; it also reads what {@link jsonCodec} wrote. */
export const typedJsonCodec: Codec = {
  id: 'json+',
  encode: (value) => encodeValue(value),
  decode: (text) => decodeValue(text),
};

/** A text and the id of the codec that reads it. */
export interface EncodedValue {
  readonly codec: 'json' | 'json+';
  readonly text: string;
}

/**
 * Encodes with the cheapest codec that keeps the value exactly, for whoever stores the id of the codec beside the text.
 *
 * @throws CodecError as {@link encodeValue}
 */
export function encodeCompact(value: unknown, types?: ClassTypes): EncodedValue {
  if (isPlainJson(value)) return { codec: 'json', text: JSON.stringify(value) };
  return { codec: 'json+', text: JSON.stringify(markTypes(value, types)) };
}

/**
 * The built-in codec with that id, or `undefined`: what a newer release wrote may name one that this one does not know.
 */
export function codecById(id: string): Codec | undefined {
  if (id === jsonCodec.id) return jsonCodec;
  return id === typedJsonCodec.id ? typedJsonCodec : undefined;
}
