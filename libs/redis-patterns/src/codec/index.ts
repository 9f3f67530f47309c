export { byteSizeSchema, type ByteSize } from './byte-size.js';
export { ClassTypes, type Class } from './class-types.js';
export { CodecError } from './codec.errors.js';
export { addTypes, codecSchema, compressSchema, typesSchema, type CompressOptions } from './codec.options.js';
export type { Codec } from './codec.js';
export { pack, unpack, type CompressionAlgorithm, type CompressionSettings, type PackedText } from './compression.js';
export { decodeValue, encodeValue } from './typed-json.js';
export { fromTaggedText, toTaggedText } from './tagged-text.js';
export { ValueCodec } from './value-codec.js';
