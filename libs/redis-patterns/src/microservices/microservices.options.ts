import { z } from 'zod';
import type { ConnectionOptions } from '../connection/index.js';
import type { Duration } from '../core/duration.js';
import { durationSchema, parseOptions } from '../core/options.js';
import type { StreamConsumerOptions, StreamOptions } from '../stream/index.js';
import type { PacketDeserializer, PacketSerializer, RedisStreamsPacket, RedisStreamsReply } from './wire.js';

/** Where both sides meet; both need the same namespace and the same Redis. */
export interface RedisStreamsOptions {
  /** First part of every key, as of `RedisPatternsModule`. */
  namespace: string;
  /** A URL or options. */
  connection: string | ConnectionOptions;
  /** Retention and the like of the streams, as of `RedisPatternsModule`. */
  stream?: Omit<StreamOptions, 'connection' | 'autoStart'>;
}

/** Options of `RedisStreamsServer`. */
export interface RedisStreamsServerOptions extends RedisStreamsOptions {
  /** Name of the service: its instances share the messages; each service gets all of them. */
  group: string;
  /** Streams that are read. Default `['bus']`. */
  streams?: readonly string[];
  /** Concurrency, lease, retries of failed events and the like. */
  consumer?: Omit<StreamConsumerOptions, 'stream' | 'group' | 'type' | 'onUnknownType'>;
  /**
   * Makes of a reply `{ id, response | err, isDisposed }` what goes to the client, which needs the fitting `deserializer`. Default: the reply as
   * it is, as JSON.
   */
  serializer?: PacketSerializer<RedisStreamsReply>;
  /** Makes of `{ pattern, data, metadata, id }` the packet that handlers see; its `data` is the body of the message. Default: as it is. */
  deserializer?: PacketDeserializer<RedisStreamsPacket>;
}

/** Options of `RedisStreamsClient`. */
export interface RedisStreamsClientOptions extends RedisStreamsOptions {
  /** Stream to publish to: a name, or a function of the pattern. Default `'bus'`. */
  to?: string | ((pattern: string) => string);
  /** Longest silence between a request and its reply, or between two values of it. Default 30 s. */
  requestTimeout?: Duration;
  /**
   * Makes of a packet `{ pattern, data, metadata, id }` what is published: `data` of the result is the body, `metadata` goes along as headers;
   * a result without `data` is the body itself. Default: as it is.
   */
  serializer?: PacketSerializer<RedisStreamsPacket>;
  /** Makes of what the service's serializer made a reply `{ id, response | err, isDisposed }`. Default: as it is. */
  deserializer?: PacketDeserializer<RedisStreamsReply>;
}

function having(method: string): z.ZodType<unknown> {
  const isOne = (value: unknown): boolean => typeof (value as Record<string, unknown> | null)?.[method] === 'function';
  return z.custom(isOne, `needs an object with a method ${method}()`);
}

const shared = {
  // Checked by those who use them, with the path that they have here.
  namespace: z.unknown().optional(),
  connection: z.unknown().optional(),
  stream: z.unknown().optional(),
  serializer: having('serialize').optional(),
  deserializer: having('deserialize').optional(),
};
const serverSchema = z.strictObject({
  ...shared,
  group: z.string("is required: the name of the service, such as 'billing'").min(1),
  streams: z.array(z.string().min(1)).min(1).default(['bus']),
  consumer: z.record(z.string(), z.unknown()).default({}),
});
const clientSchema = z.strictObject({
  ...shared,
  to: z
    .union([z.string().min(1), z.custom<(pattern: string) => string>((value) => typeof value === 'function')])
    .default('bus'),
  requestTimeout: durationSchema({ min: 1 }).prefault('30s'),
});

export function resolveServerOptions(
  raw: unknown,
): Pick<z.output<typeof serverSchema>, 'group' | 'streams' | 'consumer'> {
  return parseOptions(serverSchema, raw ?? {}, 'RedisStreamsServer');
}

export function resolveClientOptions(raw: unknown): Pick<z.output<typeof clientSchema>, 'to' | 'requestTimeout'> {
  return parseOptions(clientSchema, raw ?? {}, 'RedisStreamsClient');
}
