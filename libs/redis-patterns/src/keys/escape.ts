import { isDate } from 'node:util/types';
import { canonicalText } from './canonical.js';
import { digest } from './digest.js';
import { InvalidKeyError } from './keys.errors.js';

/** One value in an array key. Equal text means an equal part: `42`, `'42'` and `42n` are the same key on purpose. */
export type KeyPart = string | number | bigint | boolean | Date | null | undefined | object;

const MAX_BYTES = 128;

// Printable ASCII without what has a meaning to Redis or to us. Nearly every real part passes, so it is tested first.
const PLAIN = /^[!-$&-)+-9;->@-Z^-z|~]{1,128}$/;
const PLAIN_OR_COLON = /^[!-$&-)+->@-Z^-z|~]{1,128}$/;
// What could add a level, a tag or a glob, or would be unreadable, or would be lost (lone surrogates) in UTF-8.
const SPECIAL = /[%:{}*?[\]\\ \p{Cc}\p{Cs}]/gu;
const SPECIAL_BUT_COLON = /[%{}*?[\]\\ \p{Cc}\p{Cs}]/gu;

/**
 * Escapes one part of a key, so that it stays one level whatever it holds. Different texts give different results, and
 * no result holds `:`, a brace or a glob character.
 *
 * Text is percent-encoded where needed; `null` is `%n`, `undefined` `%v`, empty text `%z`; a Date is its ISO text; other
 * objects are `%h` and a hash; what is longer than 128 bytes becomes `%s` and a hash.
 *
 * @param position index of the part in its key, for the error
 * @throws InvalidKeyError for NaN, invalid dates, functions, symbols and objects without a stable text
 *
 * @example
 * ```ts
 * escapePart('a:b'); // 'a%3Ab'
 * ```
 */
export function escapePart(part: KeyPart, position?: number): string {
  switch (typeof part) {
    case 'string':
      return PLAIN.test(part) ? part : escapeText(part, SPECIAL);
    case 'number':
      if (Number.isNaN(part))
        throw new InvalidKeyError(`${labelOf(position)} is NaN; check the number it is computed from`);
      return String(part);
    case 'boolean':
      return String(part);
    case 'bigint':
      return escapeText(String(part), SPECIAL);
    case 'undefined':
      return '%v';
    case 'object':
      return part === null ? '%n' : escapeObject(part, labelOf(position));
    default:
      throw new InvalidKeyError(
        `${labelOf(position)} is a ${typeof part}; give a text, a number, a date or a plain object`,
      );
  }
}

/**
 * As {@link escapePart}, but `:` stays: for the last part of a key, inside a tag, where a further level does no harm
 * (`user:123`).
 */
export function escapeSubject(subject: string): string {
  if (typeof subject !== 'string') {
    throw new InvalidKeyError(`the subject of the key is ${subject === null ? 'null' : typeof subject}; give a text`);
  }
  return PLAIN_OR_COLON.test(subject) ? subject : escapeText(subject, SPECIAL_BUT_COLON);
}

// Called only where an error may follow: naming every part of every key would cost more than escaping it.
function labelOf(position: number | undefined): string {
  return position === undefined ? 'a part of the key' : `part ${position} of the key`;
}

function escapeText(text: string, special: RegExp): string {
  if (text === '') return '%z';
  const escaped = text.replace(special, percent);
  const fits = escaped.length <= MAX_BYTES && Buffer.byteLength(escaped) <= MAX_BYTES;
  return fits ? escaped : `%s${digest(escaped)}`;
}

/** Percent-encoding of one ASCII character, C1 control (two bytes in UTF-8) or lone surrogate (which UTF-8 has not). */
function percent(character: string): string {
  const code = character.charCodeAt(0);
  const hex = code.toString(16).toUpperCase().padStart(2, '0');
  if (code < 0x80) return `%${hex}`;
  return code < 0x100 ? `%C2%${hex}` : `%u${hex}`;
}

function escapeObject(part: object, label: string): string {
  if (isDate(part)) {
    if (Number.isNaN(part.getTime())) throw new InvalidKeyError(`${label} is an invalid date; check where it is made`);
    return escapeText(part.toISOString(), SPECIAL);
  }
  return `%h${digest(canonicalText(part, label))}`;
}
