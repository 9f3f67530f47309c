import type { ValueCodec } from './value-codec.js';

/**
 * One text for a value, which says by itself how to read it: JSON as it is, with marks where they are needed, and what a codec of
 * the application wrote behind its id. Never empty.
 *
 * @throws CodecError as {@link ValueCodec.encode}
 */
export function toTaggedText(codec: ValueCodec, value: unknown): string {
  const { codec: id, text } = codec.encode(value);
  return id === 'json' || id === 'json+' ? text : `~${id}:${text}`;
}

/** @throws CodecError as {@link ValueCodec.decode} */
export function fromTaggedText(codec: ValueCodec, text: string): unknown {
  // No JSON begins like that.
  if (!text.startsWith('~')) return codec.decode('json+', text);
  const end = text.indexOf(':');
  return codec.decode(text.slice(1, end), text.slice(end + 1));
}
