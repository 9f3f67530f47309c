import { plainName, type Telemetry } from '../telemetry/index.js';
import { CacheValueTooLargeError } from './cache.errors.js';
import type { ResolvedCacheOptions } from './cache.options.js';
import { encodeContent, type Content } from './entry.js';

/** An encoded value, and whether it may be stored. */
export interface Encoded {
  readonly content: Content;
  readonly storable: boolean;
}

/** Most names that warnings are remembered for: keys may be among them. */
const MAX_WARNED = 1_000;

/** Encodes values, and says what is wrong with those that cannot be stored, once for each region or method. */
export class Encoder {
  readonly #warned = new Set<string>();

  constructor(
    private readonly options: Pick<ResolvedCacheOptions, 'warnBytes' | 'maxBytes' | 'onOversize' | 'values'>,
    private readonly telemetry: Telemetry,
    /** Name of it. */
    private readonly connection: string,
  ) {}

  /**
   * @throws CodecError when the value cannot be stored so that it comes back equal
   * @throws CacheValueTooLargeError with `onOversize: 'throw'`
   */
  encode(value: unknown, name: string): Encoded {
    const content = encodeContent(value, this.options.values);
    const { warnBytes, maxBytes, onOversize } = this.options;
    const { payload } = content;
    if (this.telemetry.isHeard('cache-value')) this.#tell(name, payload);
    // No text has more than 3 bytes for each of its UTF-16 units.
    if (payload.length * 3 <= Math.min(warnBytes, maxBytes)) return { content, storable: true };
    const bytes = Buffer.byteLength(payload);
    if (bytes > maxBytes && onOversize !== 'store') {
      const error = new CacheValueTooLargeError(name, bytes, maxBytes);
      if (onOversize === 'throw') throw error;
      this.warnOnce(name, error.code, error.message);
      return { content, storable: false };
    }
    if (bytes > warnBytes) {
      const text = `${bytes} bytes are more than cache.warnBytes (${warnBytes}): each hit transfers and parses them`;
      this.warnOnce(name, 'ERR_CACHE_VALUE_TOO_LARGE', `A large value of ${name} is cached: ${text}.`);
    }
    return { content, storable: true };
  }

  #tell(name: string, payload: string): void {
    const bytes = Buffer.byteLength(payload);
    this.telemetry.emit('cache-value', { connection: this.connection, name: plainName(name), bytes });
  }

  /** The same, but a value that has no text is reported, and `undefined` given. */
  tryEncode(value: unknown, name: string): Encoded | undefined {
    try {
      return this.encode(value, name);
    } catch (error) {
      if (error instanceof CacheValueTooLargeError) throw error;
      this.warnOnce(name, 'ERR_CODEC', `A value of ${name} is returned, but not cached: ${(error as Error).message}`);
      return undefined;
    }
  }

  warnOnce(name: string, code: `ERR_${string}`, message: string): void {
    const id = `${code} ${name}`;
    if (this.#warned.has(id) || this.#warned.size >= MAX_WARNED) return;
    this.#warned.add(id);
    this.telemetry.emit('warning', { pattern: 'Cache', code, message });
  }
}
