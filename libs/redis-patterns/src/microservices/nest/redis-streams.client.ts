import { randomUUID } from 'node:crypto';
import { ClientProxy, type ReadPacket, type WritePacket } from '@nestjs/microservices';
import type { RedisClient } from '../../connection/index.js';
import { startTimer, type Timer } from '../../core/index.js';
import { PubSubEngine } from '../../pubsub/index.js';
import { StreamProducer } from '../../stream/index.js';
import { ClientClosedError, RequestTimeoutError } from '../microservices.errors.js';
import { resolveClientOptions, type RedisStreamsClientOptions } from '../microservices.options.js';
import { checkRequest, recordOf } from '../record.js';
import { CORRELATION_ID, DEADLINE_MS, replyChannel, REPLY_TO, toBody, type RedisStreamsReply } from '../wire.js';
import { Backend, type RedisStreamsEvents } from './backend.js';

type Callback = (packet: WritePacket) => void;

/** A request that waits for its reply. */
interface Waiting {
  readonly pattern: string;
  readonly callback: Callback;
  timer: Timer;
}

/**
 * The client of {@link RedisStreamsServer}: `emit()` completes when Redis has the event; `send()` gives the values of the reply,
 * or fails with what the handler threw or with a {@link RequestTimeoutError}. Both take a {@link RedisStreamsRecord} in place of data.
 *
 * @example
 * ```ts
 * ClientsModule.register([
 *   { name: 'BUS', customClass: RedisStreamsClient, options: { namespace: 'shop', connection: 'redis://localhost' } },
 * ]);
 * ```
 */
export class RedisStreamsClient extends ClientProxy<RedisStreamsEvents> {
  readonly #id = randomUUID();
  readonly #backend: Backend;
  readonly #producer: StreamProducer;
  readonly #replies: PubSubEngine;
  readonly #options: ReturnType<typeof resolveClientOptions>;
  readonly #waiting = new Map<string, Waiting>();
  #connected: Promise<void> | undefined;

  /** @throws InvalidOptionsError */
  constructor(options: RedisStreamsClientOptions) {
    super();
    this.#options = resolveClientOptions(options);
    this.initializeSerializer(options as never);
    this.initializeDeserializer(options as never);
    this.#backend = new Backend(options, 'RedisStreamsClient', (status) => this._status$.next(status));
    this.#producer = this.#backend.service(StreamProducer);
    this.#replies = this.#backend.service(PubSubEngine);
  }

  /** Connects, and listens to the replies. A failed attempt is made again by the next call. */
  override connect(): Promise<void> {
    this.#connected ??= this.#connect().catch((error: unknown) => {
      this.#connected = undefined;
      throw error;
    });
    return this.#connected;
  }

  /** Ends it for good. Requests that still wait fail with a {@link ClientClosedError}. */
  override async close(): Promise<void> {
    for (const [id, { pattern }] of this.#waiting) {
      this.#settle({ id, err: new ClientClosedError(pattern), isDisposed: true });
    }
    await this.#backend.close();
  }

  /** Listens to an event of the client that {@link unwrap} gives. */
  override on<Event extends keyof RedisStreamsEvents>(event: Event, callback: RedisStreamsEvents[Event]): void {
    this.#backend.on(event as string, callback);
  }

  /** The client of ioredis that publishes: a `Redis` or a `Cluster`. */
  override unwrap<T = RedisClient>(): T {
    return this.#backend.client as T;
  }

  protected override publish(packet: ReadPacket, callback: Callback): () => void {
    const pattern = this.normalizePattern(packet.pattern as string);
    const id = randomUUID();
    this.#waiting.set(id, { pattern, callback, timer: this.#patience(id) });
    const headers = {
      [REPLY_TO]: this.#id,
      [CORRELATION_ID]: id,
      [DEADLINE_MS]: String(this.#options.requestTimeout),
    };
    this.#send({ ...packet, id }, pattern, headers).catch((err: unknown) =>
      this.#settle({ id, err, isDisposed: true }),
    );
    return () => this.#forget(id);
  }

  protected override async dispatchEvent<T = unknown>(packet: ReadPacket): Promise<T> {
    return (await this.#send(packet, this.normalizePattern(packet.pattern as string))) as T;
  }

  async #send(packet: ReadPacket & { id?: string }, type: string, headers?: Record<string, string>): Promise<string> {
    const record = recordOf(packet.data);
    const { data, options } = record;
    if (headers !== undefined) checkRequest(record);
    const serialized: unknown = await this.serializer.serialize({ ...packet, data } as never, { pattern: type });
    const { body, metadata } = toBody(serialized);
    const all = { ...metadata, ...options.headers, ...headers };
    return this.#producer.publish(this.#streamOf(type), body, { ...options, type, headers: all });
  }

  async #connect(): Promise<void> {
    await this.#backend.start();
    const channel = replyChannel(this.#id);
    await this.#replies.subscribe<RedisStreamsReply>(channel, (reply) => this.#receive(reply), {
      name: 'RedisStreamsClient',
    });
  }

  async #receive(reply: RedisStreamsReply): Promise<void> {
    let packet: RedisStreamsReply;
    try {
      packet = (await this.deserializer.deserialize(reply)) as RedisStreamsReply;
    } catch (err) {
      packet = { id: reply.id, err, isDisposed: true };
    }
    this.#settle(packet);
  }

  #settle({ id, ...packet }: RedisStreamsReply): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    waiting.timer.clear();
    if (packet.err !== undefined || packet.isDisposed === true) this.#waiting.delete(id);
    else waiting.timer = this.#patience(id);
    waiting.callback(packet as WritePacket);
  }

  #patience(id: string): Timer {
    const { requestTimeout } = this.#options;
    return startTimer(requestTimeout, () => {
      const { pattern = '' } = this.#waiting.get(id) ?? {};
      this.#settle({ id, err: new RequestTimeoutError(pattern, requestTimeout), isDisposed: true });
    });
  }

  #forget(id: string): void {
    this.#waiting.get(id)?.timer.clear();
    this.#waiting.delete(id);
  }

  #streamOf(pattern: string): string {
    const { to } = this.#options;
    return typeof to === 'string' ? to : to(pattern);
  }
}
