import { randomUUID } from 'node:crypto';
import { ClientProxy, type ReadPacket, type WritePacket } from '@nestjs/microservices';
import type { RedisClient } from '../../connection/index.js';
import { startTimer, type Timer } from '../../core/index.js';
import { PubSubEngine } from '../../pubsub/index.js';
import { StreamProducer } from '../../stream/index.js';
import { RequestTimeoutError } from '../microservices.errors.js';
import { resolveClientOptions, type RedisStreamsClientOptions } from '../microservices.options.js';
import { CORRELATION_ID, DEADLINE_MS, replyChannel, REPLY_TO, type Reply } from '../wire.js';
import { Backend } from './backend.js';

type Callback = (packet: WritePacket) => void;

/** A request that waits for its reply. */
interface Waiting {
  readonly pattern: string;
  readonly callback: Callback;
  timer: Timer;
}

/**
 * The client of {@link RedisStreamsServer}: `emit()` completes when Redis has the event; `send()` gives the values of the reply,
 * or fails with what the handler threw or with a {@link RequestTimeoutError}.
 *
 * @example
 * ```ts
 * ClientsModule.register([
 *   { name: 'BUS', customClass: RedisStreamsClient, options: { namespace: 'shop', connection: 'redis://localhost' } },
 * ]);
 * ```
 */
export class RedisStreamsClient extends ClientProxy {
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
    this.#backend = new Backend(options, 'RedisStreamsClient');
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

  override async close(): Promise<void> {
    for (const id of this.#waiting.keys()) this.#forget(id);
    await this.#backend.close();
  }

  override unwrap<T = RedisClient>(): T {
    return this.#backend.client as T;
  }

  protected override publish({ pattern, data }: ReadPacket, callback: Callback): () => void {
    const type = this.normalizePattern(pattern as string);
    const id = randomUUID();
    this.#waiting.set(id, { pattern: type, callback, timer: this.#patience(id) });
    const headers = {
      [REPLY_TO]: this.#id,
      [CORRELATION_ID]: id,
      [DEADLINE_MS]: String(this.#options.requestTimeout),
    };
    this.#producer
      .publish(this.#streamOf(type), data, { type, headers })
      .catch((err: unknown) => this.#settle({ id, err, isDisposed: true }));
    return () => this.#forget(id);
  }

  protected override async dispatchEvent<T = unknown>({ pattern, data }: ReadPacket): Promise<T> {
    const type = this.normalizePattern(pattern as string);
    return (await this.#producer.publish(this.#streamOf(type), data, { type })) as T;
  }

  async #connect(): Promise<void> {
    await this.#backend.start();
    await this.#replies.subscribe<Reply>(replyChannel(this.#id), (reply) => this.#settle(reply), {
      name: 'RedisStreamsClient',
    });
  }

  #settle({ id, ...packet }: Reply): void {
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
