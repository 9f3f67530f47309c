import { ClassTypes, decodeValue, encodeValue, ValueCodec, type Codec } from '../codec/index.js';
import type { EngineContext, RedisConnection } from '../connection/index.js';
import { InvalidOptionsError } from '../core/errors.js';
import type { MessageSchema } from './message-schema.js';
import type { StreamName } from './stream-definition.js';
import { streamNameOf } from './stream-definition.js';
import { groupKeys, streamKeys, type GroupKeys, type StreamKeys } from './stream-keys.js';
import { resolveRetention, type ResolvedRetention, type ResolvedStreamOptions } from './stream.options.js';

/** Streams that are remembered: names that are made up at run time must not fill the memory. */
const MAX_STREAMS = 1000;

/** How payloads of a stream are written and read. */
export interface PayloadCodec {
  encode(value: unknown): string;
  decode(text: string): unknown;
}

/** What is known of one stream. */
export interface KnownStream {
  readonly name: string;
  readonly context: EngineContext;
  readonly keys: StreamKeys;
  readonly retention: ResolvedRetention;
  readonly codec: PayloadCodec;
  /** By type, of `defineStream`. */
  readonly schema: Readonly<Record<string, MessageSchema>>;
}

/** What is known of one group of a stream. */
export interface KnownGroup extends KnownStream {
  readonly keys: GroupKeys;
  readonly group: string;
}

const PLAIN: PayloadCodec = { encode: encodeValue, decode: decodeValue };

/** Looks up what was said of a stream, by name or by `defineStream`. */
export class StreamBook {
  readonly #known = new Map<StreamName, KnownStream>();

  constructor(
    private readonly context: EngineContext,
    private readonly options: ResolvedStreamOptions,
    private readonly connectionOf: (name: string) => RedisConnection = () => context.connection,
  ) {}

  /** @throws InvalidKeyError for a name that makes no key; InvalidOptionsError for a connection that does not exist */
  get(stream: StreamName): KnownStream {
    const known = this.#known.get(stream);
    if (known !== undefined) return known;
    const found = this.#make(stream);
    if (this.#known.size >= MAX_STREAMS) this.#known.clear();
    this.#known.set(stream, found);
    return found;
  }

  /** @throws InvalidOptionsError for what is no name of a group: all that leave it out would share one */
  group(stream: StreamName, group: string): KnownGroup {
    const found = this.get(stream);
    if (typeof group !== 'string' || group === '') {
      const message = "must be the name of a group, such as 'billing'";
      throw new InvalidOptionsError(`stream '${found.name}'`, [{ path: 'group', message }]);
    }
    return { ...found, keys: groupKeys(this.context.keys, found.name, group), group };
  }

  #make(stream: StreamName): KnownStream {
    const name = streamNameOf(stream);
    const definition = typeof stream === 'string' ? undefined : stream;
    const { streams } = this.options;
    const { connection, codec, retention } = (Object.hasOwn(streams, name) ? streams[name] : undefined) ?? {};
    return {
      name,
      context: connection === undefined ? this.context : { ...this.context, connection: this.connectionOf(connection) },
      keys: streamKeys(this.context.keys, name),
      retention: retention ?? resolveRetention(definition?.retention, name),
      codec: codec === undefined ? PLAIN : ofOwn(codec),
      schema: definition?.schema ?? {},
    };
  }
}

function ofOwn(codec: Codec): PayloadCodec {
  const values = new ValueCodec(new ClassTypes(), codec);
  return { encode: (value) => values.encode(value).text, decode: (text) => values.decode(codec.id, text) };
}

/** Where retention is hard, each entry that is added trims: to how many; else 0. */
export function hardLimit({ retention }: KnownStream): number {
  return retention.mode === 'hard' ? retention.maxLen : 0;
}
