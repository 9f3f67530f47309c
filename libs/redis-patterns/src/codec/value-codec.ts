import { ClassTypes } from './class-types.js';
import type { Codec } from './codec.js';
import { CodecError } from './codec.errors.js';
import { parseJson, parseTypedJson } from './decode.js';
import { encodeCompact, jsonCodec, typedJsonCodec } from './typed-json.js';

/**
 * How the values of an application or a region are written and read: as JSON, with marks where they need them, or by a codec
 * of the application's own. What the built-in codecs wrote is readable either way, so an application may change to its own.
 *
 * @example
 * ```ts
 * const codec = new ValueCodec(new ClassTypes([Order]));
 * const { codec: id, text } = codec.encode({ order: new Order(1) }); // id: 'json+'
 * codec.decode(id, text); // { order: Order }
 * ```
 */
export class ValueCodec {
  /** @param own writes all values; `types` then only serves to read what was written before */
  constructor(
    readonly types: ClassTypes = new ClassTypes(),
    private readonly own?: Codec,
  ) {}

  /**
   * The text, and the id of the codec that reads it.
   *
   * @throws CodecError when the value cannot be written so that it comes back equal
   */
  encode(value: unknown): { readonly codec: string; readonly text: string } {
    return this.own === undefined ? encodeCompact(value, this.types) : encodeBy(this.own, value);
  }

  /**
   * A private copy of the value.
   *
   * @param codec id of the codec that wrote the text
   * @throws CodecError when there is no such codec, or it cannot read the text
   */
  decode(codec: string, text: string): unknown {
    if (codec === jsonCodec.id) return parseJson(text);
    if (codec === typedJsonCodec.id) return parseTypedJson(text, this.types);
    if (codec === this.own?.id) return decodeBy(this.own, text);
    throw new CodecError('the stored text was written with a codec that is not known here');
  }
}

function encodeBy(codec: Codec, value: unknown): { codec: string; text: string } {
  let text: unknown;
  try {
    text = codec.encode(value);
  } catch (error) {
    if (error instanceof CodecError) throw error;
    throw new CodecError(`the codec '${codec.id}' cannot encode the value`, undefined, { cause: error });
  }
  if (typeof text === 'string') return { codec: codec.id, text };
  throw new CodecError(`the codec '${codec.id}' gave no text; its encode() must return a string, at once`);
}

function decodeBy(codec: Codec, text: string): unknown {
  try {
    return codec.decode(text);
  } catch (error) {
    if (error instanceof CodecError) throw error;
    // Without the cause: its message may quote the text.
    throw new CodecError(`the codec '${codec.id}' cannot read the stored text`);
  }
}
