import { Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import { isObservable, lastValueFrom } from 'rxjs';
import type { RedisClient } from '../../connection/index.js';
import { PubSubEngine } from '../../pubsub/index.js';
import { StreamRuntime, type StreamConsumerOptions, type StreamContext } from '../../stream/index.js';
import { resolveServerOptions, type RedisStreamsServerOptions } from '../microservices.options.js';
import { CORRELATION_ID, DEADLINE_MS, replyChannel, REPLY_TO, type Reply } from '../wire.js';
import { Backend } from './backend.js';
import { RedisStreamsContext } from './redis-streams.context.js';

interface Packet {
  readonly response?: unknown;
  readonly err?: unknown;
  readonly isDisposed?: boolean;
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
export class RedisStreamsServer extends Server implements CustomTransportStrategy {
  /** A failed event goes to the stream, which runs it again: Nest need not log it. */
  override readonly propagatesEventHandlerErrors = true;
  readonly #backend: Backend;
  readonly #runtime: StreamRuntime;
  readonly #replies: PubSubEngine;
  readonly #options: ReturnType<typeof resolveServerOptions>;
  /** A pattern may have several handlers of events; Nest's own chain gives up on the others when one has failed. */
  readonly #events = new Map<string, MessageHandler[]>();

  /** @throws InvalidOptionsError */
  constructor(options: RedisStreamsServerOptions) {
    super();
    this.#options = resolveServerOptions(options);
    this.#backend = new Backend(options, 'RedisStreamsServer');
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

  on(): never {
    throw new TypeError('RedisStreamsServer emits no events; its telemetry has what happens on the connection');
  }

  unwrap<T = RedisClient>(): T {
    return this.#backend.client as T;
  }

  async #handle(body: unknown, context: StreamContext): Promise<void> {
    const pattern = context.type ?? '';
    const isRequest = context.headers[REPLY_TO] !== undefined;
    const handler = this.messageHandlers.get(pattern);
    const rpc = new RedisStreamsContext([context]);
    if (isRequest) {
      if (handler !== undefined && handler.isEventHandler !== true) await this.#request(handler, body, rpc);
      return;
    }
    const handlers = this.#events.get(pattern) ?? (handler === undefined ? [] : [handler]);
    // A stream carries messages of other services as well.
    const results = await Promise.allSettled(handlers.map((each) => settle(each(body, rpc))));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw toError(failed.reason);
  }

  async #request(handler: MessageHandler, body: unknown, rpc: RedisStreamsContext): Promise<void> {
    const { headers, id } = rpc.getMessage();
    const deadline = Number(headers[DEADLINE_MS]);
    // Nobody waits for it any more.
    if (deadline > 0 && (await this.#backend.now()) > Number(id.split('-')[0]) + deadline) return;
    const channel = replyChannel(headers[REPLY_TO]!);
    const correlation = headers[CORRELATION_ID]!;
    const response$ = this.transformToObservable(await handler(body, rpc));
    await new Promise<void>((resolve) => {
      this.send(response$, async (packet: Packet) => {
        await this.#reply(channel, { id: correlation, ...packet }).finally(() => {
          if (packet.isDisposed === true) resolve();
        });
      });
    });
  }

  async #reply(channel: readonly ['reply', string], reply: Reply): Promise<void> {
    const { err, ...rest } = reply;
    try {
      await this.#replies.publish(channel, err === undefined ? rest : { ...rest, err: plain(err) });
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ERR_CODEC') throw error;
      // What has no text is the fault of the handler: its caller must not wait for it in vain.
      await this.#replies.publish(channel, { id: reply.id, err: plain(error), isDisposed: true });
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
