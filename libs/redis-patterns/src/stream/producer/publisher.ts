import { randomUUID } from 'node:crypto';
import { RedisUnavailableError } from '../../connection/index.js';
import { toMilliseconds, type Duration } from '../../core/duration.js';
import { InvalidOptionsError } from '../../core/errors.js';
import { checkOptionNames } from '../../core/options.js';
import { runScript } from '../../scripting/index.js';
import { toFields } from '../message.js';
import { validatorOf, type ClassValidation, type Validator } from '../message-schema.js';
import { publishLaterScript, publishOnceScript } from '../scripts.generated.js';
import { hardLimit, type KnownStream } from '../stream-book.js';
import { StreamPublishError } from '../stream.errors.js';
import { dedupKey } from '../stream-keys.js';
import type { ResolvedStreamOptions } from '../stream.options.js';
import { Backlog } from './backlog.js';
import { ReplicaLane, type ReplicaWish } from './replica-lane.js';

/** What goes with a payload. */
export interface PublishOptions<Type extends string = string> {
  /** Chooses the handler; see `type` of `@StreamConsumer`. */
  type?: Type;
  /** What the message is about, such as an order id; handlers see it as `ctx.key`. */
  key?: string;
  /** Texts for handlers and tracing. */
  headers?: Readonly<Record<string, string>>;
  /**
   * However often something is published under this id within `dedupTtl`, it is one entry, and its id is what all get. Then a
   * lost answer is no trouble: the message is safely sent again.
   */
  dedupId?: string;
  /** Keeps the message back, by the server's clock. It is appended within about a second of that time. */
  delay?: Duration;
  /** Replicas that must confirm the message, within `timeout` (default 1 s). A number is short for `{ replicas }`. */
  replicaAck?: number | { replicas: number; timeout?: Duration };
}

/** One message of `StreamProducer.publishMany`. */
export interface PublishItem<Payload = unknown, Type extends string = string> extends PublishOptions<Type> {
  payload: Payload;
}

/** What a producer keeps for a stream. */
interface Outlet {
  readonly backlog: Backlog;
  readonly validators: Map<string, Validator>;
  lane: ReplicaLane | undefined;
}

interface Message {
  readonly messageId: string;
  readonly fields: string[];
}

const WHERE = 'StreamProducer.publish';
/** A `typ` that was not noticed would be a message that no handler takes. */
const OPTIONS = ['type', 'key', 'headers', 'dedupId', 'delay', 'replicaAck'];

/** Checks, encodes and sends messages. */
export class Publisher {
  readonly #outlets = new WeakMap<KnownStream, Outlet>();

  constructor(
    private readonly options: ResolvedStreamOptions,
    private readonly ofClass: ClassValidation | undefined,
  ) {}

  async publish(stream: KnownStream, payload: unknown, options: PublishOptions): Promise<string> {
    checkOptionNames(options, OPTIONS, WHERE);
    checkTexts(options);
    const outlet = this.#outlet(stream);
    const validator = options.type === undefined ? undefined : outlet.validators.get(options.type);
    if (validator !== undefined) await validator(payload);
    const message = this.#encode(stream, payload, options);
    const room = outlet.backlog.check();
    if (room !== undefined) await room;
    try {
      return await this.#send(stream, outlet, message, options);
    } catch (error) {
      if (!(error instanceof RedisUnavailableError) || error.outcome !== 'unknown') throw error;
      throw new StreamPublishError(
        'ERR_STREAM_PUBLISH',
        `It is not known whether a message reached stream '${stream.name}'. Publish it again under a 'dedupId', or only if its ` +
          `handlers recognise a message that comes twice.`,
        { outcome: 'unknown', messageId: message.messageId, cause: error },
      );
    }
  }

  #send(stream: KnownStream, outlet: Outlet, message: Message, options: PublishOptions): Promise<string> {
    const { delay, replicaAck } = options;
    const dedupId = options.dedupId ?? (this.options.safeRetry ? message.messageId : undefined);
    if (replicaAck !== undefined && replicaAck !== 0) {
      if (delay !== undefined || options.dedupId !== undefined) {
        throw invalid('replicaAck', "cannot be combined with 'delay' or 'dedupId'");
      }
      return this.#sendConfirmed(stream, outlet, message, toWish(replicaAck));
    }
    const ms = delay === undefined ? 0 : Math.round(toMilliseconds(delay, WHERE, 'delay'));
    if (ms > 0) return this.#sendLater(stream, message, ms, dedupId);
    const { context, keys } = stream;
    if (dedupId === undefined) return this.#append(stream, message);
    return runScript(
      context.connection,
      publishOnceScript,
      [keys.stream, dedupKey(context.keys, keys.stream, dedupId)],
      [this.options.dedupTtl, hardLimit(stream), ...message.fields],
      { wait: true },
    );
  }

  /** One plain command: the way of nearly all messages. */
  #append({ context, keys, retention }: KnownStream, { fields }: Message): Promise<string> {
    const { stream } = keys;
    return context.connection.run<string>({
      name: 'stream.publish',
      effect: 'once',
      key: stream,
      wait: true,
      send: (client) =>
        (retention.mode === 'hard'
          ? client.xadd(stream, 'MAXLEN', '~', retention.maxLen, '*', ...fields)
          : client.xadd(stream, '*', ...fields)) as Promise<string>,
    });
  }

  #sendLater(stream: KnownStream, message: Message, ms: number, dedupId: string | undefined): Promise<string> {
    const { context, keys } = stream;
    const id = `d-${message.messageId}`;
    return runScript(
      context.connection,
      publishLaterScript,
      [keys.delayed, keys.delayedBody, dedupKey(context.keys, keys.stream, dedupId ?? '-')],
      [id, ms, dedupId === undefined ? 0 : this.options.dedupTtl, this.options.abandonAfter, ...message.fields],
      dedupId === undefined ? { wait: true } : { wait: true, effect: 'token' },
    );
  }

  async #sendConfirmed(stream: KnownStream, outlet: Outlet, message: Message, wish: ReplicaWish): Promise<string> {
    const { context, keys, retention } = stream;
    outlet.lane ??= new ReplicaLane(context, keys.stream);
    const { fields, messageId } = message;
    const { id, confirmed, failure } = await outlet.lane.write(
      (pipeline) =>
        retention.mode === 'hard'
          ? pipeline.xadd(keys.stream, 'MAXLEN', '~', retention.maxLen, '*', ...fields)
          : pipeline.xadd(keys.stream, '*', ...fields),
      wish,
    );
    if (confirmed >= wish.replicas) return id;
    throw new StreamPublishError(
      'ERR_STREAM_REPLICAS',
      `A message stands in stream '${stream.name}' as ${id}, but only ${confirmed} of ${wish.replicas} replicas confirmed it ` +
        `within ${wish.timeout} ms (replicaAck): a failover now would lose it. Look at the replicas.`,
      { outcome: 'unknown', messageId, cause: failure ?? undefined },
    );
  }

  #encode({ codec, name }: KnownStream, payload: unknown, { type, key, headers }: PublishOptions): Message {
    const messageId = randomUUID();
    const data = codec.encode(payload);
    this.#checkSize(data, name, messageId);
    return { messageId, fields: toFields({ type, data, messageId, key, headers }) };
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

  #outlet(stream: KnownStream): Outlet {
    const known = this.#outlets.get(stream);
    if (known !== undefined) return known;
    const validators = Object.entries(stream.schema).map(
      ([type, schema]) => [type, validatorOf(schema, this.ofClass, `defineStream('${stream.name}')`)] as const,
    );
    const outlet: Outlet = {
      backlog: new Backlog(stream, this.options.abandonAfter),
      validators: new Map(validators),
      lane: undefined,
    };
    this.#outlets.set(stream, outlet);
    return outlet;
  }
}

function toWish(replicaAck: number | { replicas: number; timeout?: Duration }): ReplicaWish {
  const wish = typeof replicaAck === 'number' ? { replicas: replicaAck } : replicaAck;
  checkOptionNames(wish, ['replicas', 'timeout'], `${WHERE} (replicaAck)`);
  const { replicas, timeout = 1000 } = wish;
  if (!Number.isInteger(replicas) || replicas < 1 || replicas > 100) {
    throw invalid('replicaAck', 'must be a number of replicas from 1 to 100');
  }
  return { replicas, timeout: toMilliseconds(timeout, WHERE, 'replicaAck.timeout') };
}

/** ioredis would turn anything else into some text, or refuse it with an error that holds the arguments. */
function checkTexts({ type, key, dedupId, headers }: PublishOptions): void {
  if (type !== undefined && typeof type !== 'string') throw invalid('type', 'must be a text');
  if (key !== undefined && typeof key !== 'string') throw invalid('key', 'must be a text');
  if (dedupId !== undefined && (typeof dedupId !== 'string' || dedupId === '')) {
    throw invalid('dedupId', 'must be a text that is not empty');
  }
  if (headers === undefined) return;
  for (const name in headers) {
    const value: unknown = headers[name];
    if (value !== undefined && typeof value !== 'string') throw invalid(`headers.${name}`, 'must be a text');
  }
}

function invalid(path: string, message: string): InvalidOptionsError {
  return new InvalidOptionsError(WHERE, [{ path, message }]);
}
