import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { CodecError } from './codec.errors.js';

/** `'zstd'` needs Node.js 22.15 or newer. */
export type CompressionAlgorithm = 'gzip' | 'brotli' | 'zstd';

/** Sizes in bytes. */
export interface CompressionSettings {
  /** Texts of this size and above are compressed. */
  readonly over: number;
  readonly algorithm: CompressionAlgorithm;
  /** Longest text that is compressed. */
  readonly maxOutput: number;
}

/** A text as it is stored. */
export interface PackedText {
  /** Algorithm and number of bytes of the text, `gzip:48213`; `''` for a text that is stored as it is. */
  readonly compression: string;
  /** The text, or the compressed bytes in base64: Redis and its clients read and show it as any other text. */
  readonly payload: string;
}

/** Longest text that is read by default, in bytes: 16 MiB. */
export const DEFAULT_MAX_OUTPUT = 16 * 1024 ** 2;

// A larger text would hold up the event loop for about a millisecond or more.
const ASYNC_OVER = 64 * 1024;
// Less gain than that is not worth the time of all who read.
const WORTHWHILE = 0.9;

type Options = zlib.ZlibOptions & zlib.BrotliOptions;
type Work = { readonly sync: (bytes: Buffer, options: Options) => Buffer; readonly async: Asynchronous };
type Asynchronous = (bytes: Buffer, options: Options) => Promise<Buffer>;
interface Algorithm {
  readonly compress: Work;
  readonly decompress: Work;
  readonly options: (size: number) => Options;
}

const { constants } = zlib;
const ALGORITHMS: Readonly<Record<CompressionAlgorithm, Algorithm | undefined>> = {
  gzip: {
    compress: { sync: zlib.gzipSync, async: promisify<Buffer, Options, Buffer>(zlib.gzip) },
    decompress: { sync: zlib.gunzipSync, async: promisify<Buffer, Options, Buffer>(zlib.gunzip) },
    options: () => ({}),
  },
  brotli: {
    compress: { sync: zlib.brotliCompressSync, async: promisify<Buffer, Options, Buffer>(zlib.brotliCompress) },
    decompress: { sync: zlib.brotliDecompressSync, async: promisify<Buffer, Options, Buffer>(zlib.brotliDecompress) },
    options: (size) => ({
      params: {
        // The default, 11, takes a hundred times as long for a tenth less.
        [constants.BROTLI_PARAM_QUALITY]: 4,
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_SIZE_HINT]: size,
      },
    }),
  },
  zstd: findZstd(),
};

/** Whether this Node.js has the algorithm. */
export function isAvailable(algorithm: CompressionAlgorithm): boolean {
  return ALGORITHMS[algorithm] !== undefined;
}

/**
 * The text as it is to be stored: compressed if it is long enough and gets shorter. Above 64 KiB on another thread, so that
 * only then a promise comes back.
 *
 * @throws CodecError when this Node.js has no such algorithm
 */
export function pack(text: string, settings: CompressionSettings): PackedText | Promise<PackedText> {
  const plain: PackedText = { compression: '', payload: text };
  // A character is at most 3 bytes: most short texts need not be counted.
  if (text.length * 3 < settings.over) return plain;
  const bytes = Buffer.from(text);
  const size = bytes.length;
  if (size < settings.over || size > settings.maxOutput) return plain;
  const { compress, options } = algorithmOf(settings.algorithm);
  const finish = (compressed: Buffer): PackedText => {
    const payload = compressed.toString('base64');
    return payload.length > size * WORTHWHILE ? plain : { compression: `${settings.algorithm}:${size}`, payload };
  };
  if (size <= ASYNC_OVER) return finish(compress.sync(bytes, options(size)));
  return compress.async(bytes, options(size)).then(finish);
}

/**
 * The text that was packed, with any algorithm that this Node.js has. Above 64 KiB on another thread, so that only then a
 * promise comes back.
 *
 * @param maxOutput bytes of the longest text that is accepted. A payload that says it is longer is not decompressed, and one
 * that turns out longer than it says is given up there. Default 16 MiB.
 * @throws CodecError (or rejects with it) when the payload is damaged, too long, or of an unknown algorithm
 *
 * @example
 * ```ts
 * await unpack(await pack(text, { over: 2048, algorithm: 'gzip', maxOutput: 16_777_216 })); // text
 * ```
 */
export function unpack(packed: PackedText, maxOutput = DEFAULT_MAX_OUTPUT): string | Promise<string> {
  if (packed.compression === '') return packed.payload;
  const match = /^(gzip|brotli|zstd):(\d{1,15})$/.exec(packed.compression);
  if (match === null) throw new CodecError('the stored text is compressed in a way that this release does not know');
  const size = Number(match[2]);
  if (size > maxOutput) throw new CodecError(`the stored text is ${size} bytes long; at most ${maxOutput} are read`);
  const { decompress } = algorithmOf(match[1] as CompressionAlgorithm);
  const bytes = Buffer.from(packed.payload, 'base64');
  const limits: Options = { maxOutputLength: Math.max(1, size) };
  if (size > ASYNC_OVER) return decompress.async(bytes, limits).then((text) => checked(text, size), refuse);
  let text: Buffer;
  try {
    text = decompress.sync(bytes, limits);
  } catch {
    return refuse();
  }
  return checked(text, size);
}

function checked(text: Buffer, size: number): string {
  return text.length === size ? text.toString() : refuse();
}

function refuse(): never {
  throw new CodecError('the compressed text is damaged; it was cut short, or something else wrote it');
}

function algorithmOf(name: CompressionAlgorithm): Algorithm {
  const algorithm = ALGORITHMS[name];
  if (algorithm === undefined) throw new CodecError(`this Node.js has no ${name}; it takes 22.15 or newer`);
  return algorithm;
}

/** Not in the types of the oldest Node.js that we support. */
function findZstd(): Algorithm | undefined {
  const { zstdCompressSync, zstdCompress, zstdDecompressSync, zstdDecompress } = zlib as unknown as Record<
    string,
    ((...args: unknown[]) => unknown) | undefined
  >;
  if (!zstdCompressSync || !zstdCompress || !zstdDecompressSync || !zstdDecompress) return undefined;
  return {
    compress: { sync: zstdCompressSync as Work['sync'], async: promisify(zstdCompress) as Asynchronous },
    decompress: { sync: zstdDecompressSync as Work['sync'], async: promisify(zstdDecompress) as Asynchronous },
    options: () => ({}),
  };
}
