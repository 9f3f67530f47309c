import type { EngineContext, RedisConnection } from '../connection/index.js';
import { InvalidOptionsError } from '../core/errors.js';
import { runScript } from '../scripting/index.js';
import { cancelScript } from './scripts.generated.js';
import { Publisher, type PublishItem, type PublishOptions } from './producer/publisher.js';
import { StreamBook, type KnownStream } from './stream-book.js';
import { PublishTracer } from './stream-tracer.js';
import type { StreamDefinition, StreamEvents, StreamName } from './stream-definition.js';
import type { ClassValidation } from './message-schema.js';
import type { ResolvedStreamOptions } from './stream.options.js';

/** What became of one message of {@link StreamProducer.publishMany}; `error` as `publish` would have thrown it. */
export type PublishResult =
  { readonly id: string; readonly error?: never } | { readonly id?: never; readonly error: Error };

type TypeOf<Events extends StreamEvents> = keyof Events & string;
type TypedItem<Events extends StreamEvents> = {
  [Type in TypeOf<Events>]: PublishItem<Events[Type], Type> & { type: Type };
}[TypeOf<Events>];

/** Messages of one `publishMany` that are in flight at the same time. */
const IN_FLIGHT = 256;

/**
 * Publishes messages. A message whose id was answered stands in the stream (as durably as Redis is configured); each group
 * runs it until a handler succeeds or it becomes a dead letter.
 */
export class StreamProducer {
  readonly #book: StreamBook;
  readonly #publisher: Publisher;
  readonly #tracer: PublishTracer;

  constructor(
    context: EngineContext,
    options: ResolvedStreamOptions,
    connectionOf?: (name: string) => RedisConnection,
    ofClass?: ClassValidation,
  ) {
    this.#book = new StreamBook(context, options, connectionOf);
    this.#publisher = new Publisher(options, ofClass);
    this.#tracer = new PublishTracer(context);
  }

  /**
   * Appends a message to a stream: one command, one round trip. What was surely not sent is sent again until the
   * connection's `commandTimeout`; what may have arrived only with a `dedupId`.
   *
   * @returns the id of the entry; with a `delay` an id `d-…`, for {@link cancel}; with a `dedupId` that of the first message
   * @throws StreamPublishError `ERR_STREAM_PUBLISH` when it is not known whether the message arrived
   * @throws StreamPublishError `ERR_STREAM_REPLICAS` when too few replicas confirmed it in time
   * @throws StreamPublishError `ERR_STREAM_PAYLOAD_TOO_LARGE` above `maxPayload`
   * @throws StreamFullError above `retention.maxBacklog`
   * @throws MessageInvalidError for a payload that does not fit the schema of `defineStream`
   * @throws RedisUnavailableError when the message did not arrive
   * @throws CodecError for a payload that has no text (a function, a class instance)
   *
   * @example
   * ```ts
   * await producer.publish('orders', { orderId: '7' }, { type: 'placed', key: '7', dedupId: 'order-7-placed' });
   * await producer.publish('orders', { orderId: '7' }, { type: 'reminder', delay: '24h' });
   * ```
   */
  publish<Events extends StreamEvents, Type extends TypeOf<Events>>(
    stream: StreamDefinition<Events>,
    payload: Events[Type],
    options: PublishOptions<Type> & { type: Type },
  ): Promise<string>;
  publish(stream: string | StreamDefinition, payload: unknown, options?: PublishOptions): Promise<string>;
  async publish(stream: StreamName, payload: unknown, options: PublishOptions = {}): Promise<string> {
    return this.#publish(this.#book.get(stream), payload, options);
  }

  /**
   * Publishes several messages; the entries stand in the order of `items`, as far as they arrive.
   *
   * @returns one result per item, in order; a message that fails does not keep the others
   *
   * @example
   * ```ts
   * const results = await producer.publishMany('orders', [{ payload: { orderId: '7' }, type: 'placed' }]);
   * const failed = results.filter((result) => result.error);
   * ```
   */
  publishMany<Events extends StreamEvents>(
    stream: StreamDefinition<Events>,
    items: readonly TypedItem<Events>[],
  ): Promise<PublishResult[]>;
  publishMany(stream: string | StreamDefinition, items: readonly PublishItem[]): Promise<PublishResult[]>;
  async publishMany(stream: StreamName, items: readonly PublishItem[]): Promise<PublishResult[]> {
    const known = this.#book.get(stream);
    const results: PublishResult[] = [];
    for (let from = 0; from < items.length; from += IN_FLIGHT) {
      const part = items.slice(from, from + IN_FLIGHT);
      const attempts = part.map(({ payload, ...options }) =>
        this.#publish(known, payload, options).then(toResult, toFailure),
      );
      results.push(...(await Promise.all(attempts)));
    }
    return results;
  }

  /**
   * Takes back a delayed message.
   *
   * @param id what `publish` gave for it
   * @returns whether it was taken back; false when it is due, or was taken back before
   * @throws RedisUnavailableError; its outcome says whether it may have been taken back
   */
  async cancel(stream: StreamName, id: string): Promise<boolean> {
    const { context, keys } = this.#book.get(stream);
    if (typeof id !== 'string') {
      throw new InvalidOptionsError('StreamProducer.cancel', [{ path: 'id', message: 'must be what publish() gave' }]);
    }
    return (await runScript(context.connection, cancelScript, [keys.delayed, keys.delayedBody], [id])) === 1;
  }

  #publish(stream: KnownStream, payload: unknown, options: PublishOptions): Promise<string> {
    return this.#tracer.publish(stream.name, () => {
      const { headers: given } = options;
      const headers = stream.context.telemetry.withCarrier(given);
      return this.#publisher.publish(stream, payload, headers === given ? options : { ...options, headers });
    });
  }
}

function toResult(id: string): PublishResult {
  return { id };
}

function toFailure(error: Error): PublishResult {
  return { error };
}
