import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { EngineContext, RedisConnection } from '../connection/index.js';
import { toMilliseconds, type Duration } from '../core/duration.js';
import { InvalidOptionsError } from '../core/errors.js';
import { checkHandler } from '../core/handler.js';
import { withReaderDefaults, type StreamConsumerOptions } from './consumer.options.js';
import { resolveConsumerOptions } from './consumer.schema.js';
import { validatorOf, type ClassValidation } from './message-schema.js';
import { StreamReader, type ReaderStatus } from './reader/reader.js';
import type { MessageHandler } from './reader/routes.js';
import type { ReaderScope } from './reader/scope.js';
import { addRoute, Registrations, type Registration } from './registrations.js';
import { StreamBook } from './stream-book.js';
import type { EventPayload, EventType, StreamEvents } from './stream-definition.js';
import type { ResolvedStreamOptions } from './stream.options.js';

export type StreamRuntimeState = 'idle' | 'running' | 'draining' | 'stopped';

/** A consumer that was registered; consumers of one stream and group share the reader behind it. */
export interface StreamConsumption {
  readonly stream: string;
  readonly group: string;
  /** Starts the reader of this stream and group. Idempotent. */
  start(): void;
  /** Resolves when the group exists and reading has begun. */
  readonly ready: Promise<void>;
}

/** A reader of this process. */
export interface StreamReaderInfo extends ReaderStatus {
  readonly stream: string;
  readonly group: string;
}

/**
 * Owns the readers of an application: one for each stream and group, each with a blocking socket of its own.
 *
 * @example By hand; `@StreamConsumer` does the same
 * ```ts
 * runtime.consume({ stream: 'orders', group: 'billing' }, async (order, ctx) => bill(order, ctx.messageId));
 * runtime.start();
 * ```
 */
export class StreamRuntime {
  readonly #registrations = new Registrations();
  readonly #book: StreamBook;
  /** No other process, and no other application in this one, ever has this name. */
  readonly #consumer: string;
  #state: StreamRuntimeState = 'idle';
  #draining: Promise<void> | undefined;

  constructor(
    context: EngineContext,
    private readonly options: ResolvedStreamOptions,
    connectionOf?: (name: string) => RedisConnection,
    private readonly ofClass?: ClassValidation,
  ) {
    this.#book = new StreamBook(context, options, connectionOf);
    const unique = randomBytes(3).toString('hex');
    this.#consumer = `${context.keys.namespace}-${hostname()}-${process.pid}-${unique}`;
  }

  /** `'running'` once any reader has started; `'draining'` and `'stopped'` are final. */
  get state(): StreamRuntimeState {
    return this.#state;
  }

  /** Whether readers shall start with the application (`autoStart`). */
  get startsByItself(): boolean {
    return this.options.autoStart;
  }

  /** The readers of this process and what each is doing, for health checks. */
  get readers(): readonly StreamReaderInfo[] {
    return [...this.#registrations.values()].map(({ known, reader }) => ({
      stream: known.name,
      group: known.group,
      ...(reader?.status ?? { state: 'idle', trouble: undefined, running: 0, held: 0 }),
    }));
  }

  /**
   * Registers a handler; its reader starts by {@link start}. A handler that resolves acknowledges its message; one that
   * rejects has it run again after a back-off, until it becomes a dead letter.
   *
   * @param where who registers, for messages: `Class.method`
   * @throws InvalidOptionsError for a wrong option; for a handler that is a generator or no function; for a type that another handler of the group takes already; for a
   * reader option that another one has given with another value
   */
  consume<Events extends StreamEvents, Type extends EventType<Events>>(
    options: StreamConsumerOptions<Events, Type> & { batch: object },
    handler: MessageHandler<EventPayload<Events, Type>[]>,
    where?: string,
  ): StreamConsumption;
  consume<Events extends StreamEvents, Type extends EventType<Events>>(
    options: StreamConsumerOptions<Events, Type> & { batch?: never },
    handler: MessageHandler<EventPayload<Events, Type>>,
    where?: string,
  ): StreamConsumption;
  consume(options: StreamConsumerOptions, handler: MessageHandler, where?: string): StreamConsumption;
  consume(
    options: unknown,
    handler: MessageHandler<never>,
    where: string = 'StreamRuntime.consume()',
  ): StreamConsumption {
    const resolved = resolveConsumerOptions(options, where);
    checkHandler(handler, where);
    const { stream, group, schema } = resolved;
    const known = this.#book.group(stream, group);
    const validators = Object.entries(known.schema).map(
      ([type, one]) => [type, validatorOf(one, this.ofClass, where)] as const,
    );
    const registration = this.#registrations.get(known);
    addRoute(registration, resolved, {
      name: where,
      handler: handler as MessageHandler,
      options: resolved.handler,
      validator: schema && validatorOf(schema, this.ofClass, where),
      validators: new Map(validators),
    });
    return { stream: known.name, group, ready: registration.ready, start: () => this.#start(registration) };
  }

  /**
   * Checks that there is a blocking socket for every reader.
   *
   * @throws InvalidOptionsError naming `pool.maxBlocking`
   */
  check(): void {
    const byConnection = new Map<RedisConnection, string[]>();
    for (const { known } of this.#registrations.values()) {
      const { connection } = known.context;
      byConnection.set(connection, [...(byConnection.get(connection) ?? []), `${known.name}/${known.group}`]);
    }
    for (const [{ name, maxBlocking }, readers] of byConnection) {
      if (readers.length <= maxBlocking) continue;
      const path = name === 'default' ? 'connection.pool.maxBlocking' : `connections.${name}.pool.maxBlocking`;
      const message =
        `is ${maxBlocking}, but ${readers.length} stream readers hold one blocking socket each ` +
        `(${readers.join(', ')}); raise it to ${readers.length} or more`;
      throw new InvalidOptionsError('StreamRuntime', [{ path, message }]);
    }
  }

  /**
   * Starts every reader that does not run yet. Does not wait for Redis: a reader waits for it, as long as it takes.
   *
   * @throws InvalidOptionsError as {@link check}
   */
  start(): void {
    this.check();
    for (const registration of this.#registrations.values()) this.#start(registration);
  }

  /**
   * Stops reading, hands over what has not begun, and waits for running handlers (their leases are renewed); then aborts
   * them. Final and idempotent: all callers share the first call.
   *
   * @param timeout longest wait for handlers; default `stream.drainTimeout`
   */
  drain(timeout?: Duration): Promise<void> {
    this.#draining ??= this.#drain(
      timeout === undefined ? this.options.drainTimeout : toMilliseconds(timeout, 'StreamRuntime.drain', 'timeout'),
    );
    return this.#draining;
  }

  /** {@link drain} with its default; the module calls it before the connections close. */
  close(): Promise<void> {
    return this.drain();
  }

  async #drain(timeout: number): Promise<void> {
    this.#state = 'draining';
    const readers = [...this.#registrations.values()].flatMap(({ reader }) => reader ?? []);
    await Promise.allSettled(readers.map((reader) => reader.drain(timeout)));
    this.#state = 'stopped';
  }

  #start(registration: Registration): void {
    if (this.#draining !== undefined || registration.reader !== undefined) return;
    this.#state = 'running';
    const reader = new StreamReader(this.#scope(registration), registration.routes);
    registration.reader = reader;
    void reader.ready.then(registration.becomeReady);
    reader.start();
  }

  #scope({ known, options: said, routes }: Registration): ReaderScope {
    const given = Object.fromEntries([...said].map(([name, { value }]) => [name, value]));
    const options = withReaderDefaults(given, routes.largestBatch);
    const { keys, context, name, group } = known;
    return {
      context,
      known,
      stream: name,
      group,
      consumer: options.consumerName ?? this.#consumer,
      label: `${name}/${group}`,
      keys,
      planes: { main: { key: keys.stream, isRetry: 0 }, retries: { key: keys.retries, isRetry: 1 } },
      options,
      abandonAfter: this.options.abandonAfter,
      maxPayload: this.options.maxPayload,
    };
  }
}
