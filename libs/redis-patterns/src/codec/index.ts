export { CodecError } from './codec.errors.js';
export type { Codec } from './codec.js';
export {
  codecById,
  decodeValue,
  encodeCompact,
  encodeValue,
  jsonCodec,
  typedJsonCodec,
  type EncodedValue,
} from './typed-json.js';
