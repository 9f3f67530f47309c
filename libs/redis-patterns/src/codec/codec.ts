/**
 * Turns values into the text that Redis keeps, and back: `decode(encode(x))` equals `x`, or `encode` throws.
 *
 * @example
 * ```ts
 * const upperCase: Codec = { id: 'upper', encode: (value) => String(value).toUpperCase(), decode: (text) => text };
 * ```
 */
export interface Codec {
  /** Short name, stored beside the text so that a reader knows how to decode it: `json`, `json+`. */
  readonly id: string;
  /** @throws CodecError naming the place in the value that has no text */
  encode(value: unknown): string;
  /** @throws CodecError when the text was not written by this codec */
  decode(text: string): unknown;
}
