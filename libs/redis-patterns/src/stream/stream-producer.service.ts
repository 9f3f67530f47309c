import { randomUUID } from 'node:crypto';
import { encodeValue } from '../codec/index.js';
import { RedisUnavailableError, type EngineContext } from '../connection/index.js';
import { InvalidOptionsError } from '../core/errors.js';
import { toFields } from './message.js';
import { streamNameOf, type StreamDefinition, type StreamEvents, type StreamName } from './stream-definition.js';
import { StreamPublishError } from './stream.errors.js';
import { resolveRetention, type ResolvedStreamOptions } from './stream.options.js';
import { streamKey } from './stream-keys.js';
import { PublishTracer } from './stream-tracer.js';

/** What goes with a payload. */
export interface PublishOptions<Type extends string = string> {
  /** Chooses the handler; see `type` of `@StreamConsumer`. */
  type?: Type;
  /** What the message is about, such as an order id; handlers see it as `ctx.key`. */
  key?: string;
  /** Texts for handlers and tracing. */
  headers?: Readonly<Record<string, string>>;
}

/** One message of {@link StreamProducer.publishMany}. */
export interface PublishItem<Payload = unknown, Type extends string = string> extends PublishOptions<Type> {
  payload: Payload;
}

/** What became of one message of {@link StreamProducer.publishMany}; `error` as `publish` would have thrown it. */
export type PublishResult =
  { readonly id: string; readonly error?: never } | { readonly id?: never; readonly error: Error };

type TypeOf<Events extends StreamEvents> = keyof Events & string;
type TypedItem<Events extends StreamEvents> = {
  [Type in TypeOf<Events>]: PublishItem<Events[Type], Type> & { type: Type };
}[TypeOf<Events>];

interface Target {
  readonly name: string;
  readonly key: string;
  readonly maxLen: number;
}

/** Messages of one `publishMany` that are in flight at the same time. */
const IN_FLIGHT = 256;
/** Streams whose key and retention are remembered. */
const MAX_TARGETS = 1000;

/**
 * Publishes messages. A message whose id was answered stands in the stream (as durably as Redis is configured); each group
 * runs it until a handler succeeds or it becomes a dead letter.
 */
export class StreamProducer {
  readonly #targets = new Map<StreamName, Target>();
  readonly #tracer: PublishTracer;

  constructor(
    private readonly context: EngineContext,
    private readonly options: ResolvedStreamOptions,
  ) {
    this.#tracer = new PublishTracer(context);
  }

  /**
   * Appends a message to a stream: one command, one round trip. What was surely not sent is sent again until the
   * connection's `commandTimeout`; what may have arrived never is.
   *
   * @returns the id of the entry
   * @throws StreamPublishError `ERR_STREAM_PUBLISH` when it is not known whether the message arrived
   * @throws StreamPublishError `ERR_STREAM_PAYLOAD_TOO_LARGE` above `maxPayload`
   * @throws RedisUnavailableError when the message did not arrive
   * @throws CodecError for a payload that has no text (a function, a class instance)
   *
   * @example
   * ```ts
   * await producer.publish('orders', { orderId: '7' }, { type: 'placed', key: '7' });
   * ```
   */
  publish<Events extends StreamEvents, Type extends TypeOf<Events>>(
    stream: StreamDefinition<Events>,
    payload: Events[Type],
    options: PublishOptions<Type> & { type: Type },
  ): Promise<string>;
  publish(stream: StreamName, payload: unknown, options?: PublishOptions): Promise<string>;
  async publish(stream: StreamName, payload: unknown, options: PublishOptions = {}): Promise<string> {
    return this.#append(this.#target(stream), payload, options);
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
  publishMany(stream: StreamName, items: readonly PublishItem[]): Promise<PublishResult[]>;
  async publishMany(stream: StreamName, items: readonly PublishItem[]): Promise<PublishResult[]> {
    const target = this.#target(stream);
    const results: PublishResult[] = [];
    for (let from = 0; from < items.length; from += IN_FLIGHT) {
      const part = items.slice(from, from + IN_FLIGHT);
      const attempts = part.map(({ payload, ...options }) =>
        this.#append(target, payload, options).then(toResult, toFailure),
      );
      results.push(...(await Promise.all(attempts)));
    }
    return results;
  }

  #append(target: Target, payload: unknown, options: PublishOptions): Promise<string> {
    return this.#tracer.publish(target.name, () => this.#appendNow(target, payload, options));
  }

  async #appendNow(target: Target, payload: unknown, options: PublishOptions): Promise<string> {
    const { type, key } = options;
    const headers = this.context.telemetry.withCarrier(options.headers);
    checkTexts({ type, key }, '');
    if (headers !== undefined) checkTexts(headers, 'headers.');
    const messageId = randomUUID();
    const data = encodeValue(payload);
    this.#checkSize(data, target.name, messageId);
    const fields = toFields({ type, data, messageId, key, headers });
    try {
      const id = await this.context.connection.run({
        name: 'stream.publish',
        effect: 'once',
        key: target.key,
        wait: true,
        send: (client) => client.xadd(target.key, 'MAXLEN', '~', target.maxLen, '*', ...fields),
      });
      return id!;
    } catch (error) {
      if (!(error instanceof RedisUnavailableError) || error.outcome !== 'unknown') throw error;
      throw new StreamPublishError(
        'ERR_STREAM_PUBLISH',
        `It is not known whether a message reached stream '${target.name}'. Publish it again only if its handlers recognise ` +
          `a message that comes twice.`,
        { outcome: 'unknown', messageId, cause: error },
      );
    }
  }

  #checkSize(data: string, stream: string, messageId: string): void {
    const { maxPayload } = this.options;
    // A UTF-16 unit has one to three bytes: most payloads need not be measured.
    if (data.length * 3 <= maxPayload || Buffer.byteLength(data) <= maxPayload) return;
    throw new StreamPublishError(
      'ERR_STREAM_PAYLOAD_TOO_LARGE',
      `The payload for stream '${stream}' has ${Buffer.byteLength(data)} bytes, more than 'stream.maxPayload' (${maxPayload}). ` +
        `Store it elsewhere and publish where it is.`,
      { outcome: 'not-sent', messageId },
    );
  }

  #target(stream: StreamName): Target {
    const known = this.#targets.get(stream);
    if (known !== undefined) return known;
    const name = streamNameOf(stream);
    const own = typeof stream === 'string' ? undefined : stream.retention;
    const configured = Object.hasOwn(this.options.streams, name) ? this.options.streams[name]?.retention : undefined;
    const { maxLen } = configured ?? resolveRetention(own, name);
    const target: Target = { name, key: streamKey(this.context.keys, name), maxLen };
    // Names that are made up at run time must not fill the memory.
    if (this.#targets.size >= MAX_TARGETS) this.#targets.clear();
    this.#targets.set(stream, target);
    return target;
  }
}

/** ioredis would turn anything else into some text, or refuse it with an error that holds the arguments. */
function checkTexts(texts: Readonly<Record<string, unknown>>, prefix: string): void {
  for (const name in texts) {
    const value = texts[name];
    if (value === undefined || typeof value === 'string') continue;
    throw new InvalidOptionsError('StreamProducer.publish', [{ path: prefix + name, message: 'must be a text' }]);
  }
}

function toResult(id: string): PublishResult {
  return { id };
}

function toFailure(error: Error): PublishResult {
  return { error };
}
