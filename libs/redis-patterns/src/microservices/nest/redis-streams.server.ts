import { Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import { isObservable, lastValueFrom, throwError, type Observable } from 'rxjs';
import { RedisUnavailableError, type RedisClient } from '../../connection/index.js';
import { PubSubEngine } from '../../pubsub/index.js';
import { StreamRuntime, type StreamConsumerOptions, type StreamContext } from '../../stream/index.js';
import { resolveServerOptions, type RedisStreamsServerOptions } from '../microservices.options.js';
import { RequestClock } from '../request-clock.js';
import {
  CORRELATION_ID,
  DEADLINE_MS,
  REDIS_STREAMS,
  replyChannel,
  REPLY_TO,
  toMetadata,
  type RedisStreamsPacket,
  type RedisStreamsReply,
} from '../wire.js';
import { Backend, type RedisStreamsEvents, type RedisStreamsStatus } from './backend.js';
import { RedisStreamsContext } from './redis-streams.context.js';

/** A message as its handlers see it. */
interface Received {
  readonly data: unknown;
  readonly rpc: RedisStreamsContext;
}

/**
 * Serves `@EventPattern` and `@MessagePattern` handlers from Redis streams: an event whose handler fails runs again, and becomes
 * a dead letter in the end; a request is answered over the client's own channel. All guards, pipes, interceptors and filters of
 * Nest apply.
 *
 * @example
 * ```ts
 * const app = await NestFactory.createMicroservice(AppModule, {
 *   strategy: new RedisStreamsServer({ namespace: 'shop', connection: 'redis://localhost', group: 'billing' }),
 * });
 * await app.listen();
 * ```
 */
export class RedisStreamsServer
  extends Server<RedisStreamsEvents, RedisStreamsStatus>
  implements CustomTransportStrategy
{
  /** So that handlers can be for this transport alone: `@EventPattern('order.placed', REDIS_STREAMS)`. */
  override readonly transportId = REDIS_STREAMS;
  /** A failed event goes to the stream, which runs it again: Nest need not log it. */
  override readonly propagatesEventHandlerErrors = true;
  readonly #backend: Backend;
  readonly #runtime: StreamRuntime;
  readonly #replies: PubSubEngine;
  readonly #options: ReturnType<typeof resolveServerOptions>;
  /** A pattern may have several handlers of events; Nest's own chain gives up on the others when one has failed. */
  readonly #events = new Map<string, MessageHandler[]>();
  /** One for each stream: in a Cluster another node may date its messages. */
  readonly #clocks = new Map<string, RequestClock>();

  /** @throws InvalidOptionsError */
  constructor(options: RedisStreamsServerOptions) {
    super();
    this.#options = resolveServerOptions(options);
    this.initializeSerializer(options as never);
    this.initializeDeserializer(options as never);
    this.#backend = new Backend(options, 'RedisStreamsServer', (status) => this._status$.next(status));
    this.#replies = this.#backend.service(PubSubEngine);
    this.#runtime = this.#backend.service(StreamRuntime);
  }

  override addHandler(
    pattern: unknown,
    callback: MessageHandler,
    isEventHandler = false,
    extras: Record<string, unknown> = {},
  ): void {
    const route = this.normalizePattern(pattern as string);
    const known = this.#events.get(route);
    if (!isEventHandler) return super.addHandler(pattern, callback, false, extras);
    if (known === undefined) this.#events.set(route, [callback]);
    else known.push(callback);
    if (!this.messageHandlers.has(route)) super.addHandler(pattern, callback, true, extras);
  }

  async listen(callback: (error?: unknown) => void): Promise<void> {
    try {
      await this.#backend.start();
      const { group, streams, consumer } = this.#options;
      for (const stream of streams) {
        const options = { ...consumer, stream, group } as StreamConsumerOptions;
        this.#clocks.set(stream, new RequestClock(() => this.#backend.now(stream)));
        this.#runtime.consume(options, (body, context) => this.#handle(body, context), 'RedisStreamsServer');
      }
      this.#runtime.start();
      callback();
    } catch (error) {
      callback(error);
    }
  }

  /** Ends running handlers within `stream.drainTimeout`; what has not begun runs elsewhere. */
  async close(): Promise<void> {
    // Replies of the last handlers are still sent.
    await this.#runtime.drain();
    await this.#backend.close();
  }

  /** Listens to an event of the client that {@link unwrap} gives. */
  on<Event extends keyof RedisStreamsEvents>(event: Event, callback: RedisStreamsEvents[Event]): void {
    this.#backend.on(event as string, callback);
  }

  /** The client of ioredis that sends the replies: a `Redis` or a `Cluster`. */
  unwrap<T = RedisClient>(): T {
    return this.#backend.client as T;
  }

  async #handle(body: unknown, context: StreamContext): Promise<void> {
    const pattern = context.type ?? '';
    const handler = this.messageHandlers.get(pattern);
    if (context.headers[REPLY_TO] !== undefined) {
      if (handler === undefined || handler.isEventHandler === true || (await this.#isOver(context))) return;
      return this.#request(handler, body, context);
    }
    const handlers = this.#events.get(pattern) ?? (handler === undefined ? [] : [handler]);
    // A stream carries messages of other services as well.
    if (handlers.length === 0) return;
    const { data, rpc } = await this.#received(body, context);
    await this.#hooked(rpc, async () => {
      const results = await Promise.allSettled(handlers.map((each) => settle(each(data, rpc))));
      const failed = results.find((result) => result.status === 'rejected');
      if (failed !== undefined) throw toError(failed.reason);
    });
  }

  /** Whether nobody waits for the reply any more. */
  async #isOver({ headers, id, stream }: StreamContext): Promise<boolean> {
    const patience = Number(headers[DEADLINE_MS]);
    return patience > 0 && this.#clocks.get(stream)!.isOver(Number(id.split('-')[0]) + patience);
  }

  async #received(body: unknown, context: StreamContext): Promise<Received> {
    const { headers, type: pattern } = context;
    const [id, metadata] = [headers[CORRELATION_ID], toMetadata(headers)];
    const packet = {
      pattern,
      data: body,
      ...(id !== undefined && { id }),
      ...(metadata !== undefined && { metadata }),
    };
    const received = (await this.deserializer.deserialize(packet, { channel: pattern })) as RedisStreamsPacket;
    return { data: received.data, rpc: new RedisStreamsContext([context, received.metadata]) };
  }

  async #request(handler: MessageHandler, body: unknown, context: StreamContext): Promise<void> {
    const channel = replyChannel(context.headers[REPLY_TO]!);
    const id = context.headers[CORRELATION_ID]!;
    const answer = (response$: Observable<unknown>): Promise<void> =>
      new Promise((resolve) => {
        this.send(response$, async (packet) => {
          // Not every version of Nest bears one that fails.
          await this.#reply(channel, { id, ...packet }).catch((error: unknown) => this.handleError(String(error)));
          if (packet.isDisposed === true) resolve();
        });
      });
    let received: Received;
    try {
      received = await this.#received(body, context);
    } catch (error) {
      return answer(throwError(() => error));
    }
    const { data, rpc } = received;
    await this.#hooked(rpc, async () => answer(this.transformToObservable(await handler(data, rpc))));
  }

  /** Between the hooks of Nest's instrumentation, if there are any: Nest 11 has none. */
  #hooked(rpc: RedisStreamsContext, work: () => Promise<void>): Promise<void> {
    const start = this.onProcessingStartHook as typeof this.onProcessingStartHook | undefined;
    if (start === undefined) return work();
    return new Promise((resolve, reject) => {
      let working: Promise<void> | undefined;
      const done = (): Promise<void> => {
        working ??= work().finally(() => this.onProcessingEndHook?.(this.transportId, rpc));
        working.then(resolve, reject);
        return working;
      };
      // A hook that fails has not called it.
      Promise.resolve()
        .then(() => start.call(this, this.transportId, rpc, done))
        .catch(reject);
    });
  }

  async #reply(channel: readonly ['reply', string], reply: RedisStreamsReply): Promise<void> {
    const { err, ...rest } = reply;
    const publish = async (each: RedisStreamsReply): Promise<void> => {
      await this.#replies.publish(channel, await this.serializer.serialize(each as never));
    };
    try {
      await publish(err === undefined ? rest : { ...rest, err: plain(err) });
    } catch (error) {
      if (error instanceof RedisUnavailableError) throw error;
      // What has no text is the fault of the handler, or of the serializer: its caller must not wait for it in vain.
      await publish({ id: reply.id, err: plain(error), isDisposed: true });
    }
  }
}

/** Waits for the end of whatever a handler gave. */
async function settle(given: unknown): Promise<void> {
  const result = await given;
  if (isObservable(result)) await lastValueFrom(result, { defaultValue: undefined });
}

/** An error as it goes over the wire: errors of Nest are plain already. */
function plain(error: unknown): unknown {
  return error instanceof Error ? { status: 'error', message: error.message } : error;
}

function toError(reason: unknown): Error {
  if (reason instanceof Error) return reason;
  const { message } = (reason ?? {}) as { message?: unknown };
  return new Error(typeof message === 'string' ? message : 'the handler failed', { cause: reason });
}
