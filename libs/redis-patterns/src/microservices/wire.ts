import type { PubSubOptions } from '../pubsub/index.js';

/** Headers of a request; an event has none of them. */
export const REPLY_TO = 'x-reply-to';
export const CORRELATION_ID = 'x-correlation-id';
/** Milliseconds after the publish at which the client no longer waits. */
export const DEADLINE_MS = 'x-deadline-ms';

export const OWN_HEADERS: ReadonlySet<string> = new Set([REPLY_TO, CORRELATION_ID, DEADLINE_MS]);

/** Handlers of this transport alone: `@EventPattern('order.placed', REDIS_STREAMS)`. */
export const REDIS_STREAMS: unique symbol = Symbol.for('nestjs-redis-patterns:streams') as never;

/** A client hears its replies here; reliable, so that they survive the loss of its connection. */
export function replyChannel(clientId: string): readonly ['reply', string] {
  return ['reply', clientId];
}

export const REPLY_CHANNELS: PubSubOptions = {
  channels: { reply: { delivery: 'reliable', maxLen: 1000, ttl: '60s' } },
  maxPending: 10_000,
};

/** An event, or with an `id` a request. */
export interface RedisStreamsPacket {
  readonly pattern?: unknown;
  readonly data: unknown;
  /** Texts that go along, out of band, as headers of the message. */
  readonly metadata?: Record<string, string>;
  readonly id?: string;
}

/** One value of a reply, or its end, or both. */
export interface RedisStreamsReply {
  readonly id: string;
  readonly response?: unknown;
  readonly err?: unknown;
  readonly isDisposed?: boolean;
}

/** As `Serializer` of `@nestjs/microservices`. */
export interface PacketSerializer<Packet> {
  serialize(packet: Packet, options?: Record<string, unknown>): unknown;
}

/** As `Deserializer` of `@nestjs/microservices`. */
export interface PacketDeserializer<Packet> {
  deserialize(value: unknown, options?: Record<string, unknown>): Packet | Promise<Packet>;
}

/** What a serializer has made of a packet: its data travel as the body, its metadata as headers. */
export function toBody(serialized: unknown): { body: unknown; metadata: Record<string, string> | undefined } {
  if (typeof serialized !== 'object' || serialized === null || !('data' in serialized)) {
    return { body: serialized, metadata: undefined };
  }
  const { data, metadata } = serialized as RedisStreamsPacket;
  return { body: data, metadata };
}

/** The headers that are not the transport's own. */
export function toMetadata(headers: Readonly<Record<string, string>>): Record<string, string> | undefined {
  const entries = Object.entries(headers).filter(([name]) => !OWN_HEADERS.has(name));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
