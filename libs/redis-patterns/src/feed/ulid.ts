import { createHash, randomBytes } from 'node:crypto';

/** Crockford's base 32, whose characters are in the order of their values. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const FORM = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Whether a text is a ULID (github.com/ulid/spec): 48 bits of time, 80 of chance, in the order of both. */
export function isUlid(text: unknown): text is string {
  return typeof text === 'string' && FORM.test(text);
}

/** The moment of an id, milliseconds since 1970. */
export function timeOf(id: string): number {
  let ms = 0;
  for (let index = 0; index < 10; index++) ms = ms * 32 + DIGITS.indexOf(id[index]!);
  return ms;
}

/** An id of a moment, different each time. */
export function ulidAt(ms: number): string {
  return encode(ms, randomBytes(16));
}

/** An id of a moment, the same for the same text. */
export function ulidOf(ms: number, text: string): string {
  return encode(ms, createHash('sha256').update(text).digest());
}

/** The least text above all that begin with the id. */
export function afterId(id: string): string {
  return id.slice(0, 25) + String.fromCharCode(id.charCodeAt(25) + 1);
}

/** Ids of which each is greater than the one before, also within a millisecond and when the clock goes back. */
export class UlidSource {
  #ms = -1;
  #chance = randomBytes(16);

  next(ms: number): string {
    if (ms > this.#ms) {
      this.#ms = ms;
      this.#chance = randomBytes(16);
    } else this.#increment();
    return encode(this.#ms, this.#chance);
  }

  #increment(): void {
    for (let index = 15; index >= 0; index--) {
      const digit = (this.#chance[index]! + 1) & 31;
      this.#chance[index] = digit;
      if (digit !== 0) return;
    }
    this.#ms++;
  }
}

function encode(ms: number, chance: Uint8Array): string {
  let time = '';
  for (let rest = ms, index = 0; index < 10; index++, rest = Math.floor(rest / 32)) time = DIGITS[rest % 32]! + time;
  for (let index = 0; index < 16; index++) time += DIGITS[chance[index]! & 31]!;
  return time;
}
