import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { EngineContext } from '../connection/index.js';
import { toMilliseconds, type Duration } from '../core/duration.js';
import { InvalidOptionsError } from '../core/errors.js';
import {
  resolveConsumerOptions,
  withReaderDefaults,
  type ResolvedReaderOptions,
  type StreamConsumerOptions,
} from './consumer.options.js';
import { StreamReader } from './reader/reader.js';
import { Routes, type MessageHandler } from './reader/routes.js';
import { groupKeys } from './stream-keys.js';
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

/** One reader to be, and who said what about it. */
interface Registration {
  readonly stream: string;
  readonly group: string;
  readonly routes: Routes;
  readonly options: Map<keyof ResolvedReaderOptions, { value: unknown; by: string }>;
  reader: StreamReader | undefined;
  readonly ready: Promise<void>;
  readonly becomeReady: () => void;
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
  readonly #registrations = new Map<string, Registration>();
  /** No other process, and no other application in this one, ever has this name. */
  readonly #consumer: string;
  #state: StreamRuntimeState = 'idle';
  #draining: Promise<void> | undefined;

  constructor(
    private readonly context: EngineContext,
    private readonly options: ResolvedStreamOptions,
  ) {
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

  /**
   * Registers a handler; its reader starts by {@link start}. A handler that resolves acknowledges its message; one that
   * rejects has it run again after a back-off, until it becomes a dead letter.
   *
   * @param where who registers, for messages: `Class.method`
   * @throws InvalidOptionsError for a wrong option; for a type that another handler of the group takes already; for a
   * reader option that another one has given with another value
   */
  consume(
    options: StreamConsumerOptions,
    handler: MessageHandler,
    where = 'StreamRuntime.consume()',
  ): StreamConsumption {
    const { stream, group, types, retry, reader } = resolveConsumerOptions(options, where);
    const registration = this.#registration(stream, group);
    const rival = registration.routes.conflict(types);
    if (rival !== undefined) throw typeConflict(registration, types, where, rival.name);
    mergeOptions(registration, reader, where);
    registration.routes.add(types, { name: where, handler, retry });
    return { stream, group, ready: registration.ready, start: () => this.#start(registration) };
  }

  /**
   * Checks that there is a blocking socket for every reader.
   *
   * @throws InvalidOptionsError naming `pool.maxBlocking`
   */
  check(): void {
    if (this.#registrations.size === 0) return;
    const { name, maxBlocking } = this.context.connection;
    const readers = [...this.#registrations.values()].map(({ stream, group }) => `${stream}/${group}`);
    if (readers.length <= maxBlocking) return;
    const path = name === 'default' ? 'connection.pool.maxBlocking' : `connections.${name}.pool.maxBlocking`;
    const message =
      `is ${maxBlocking}, but ${readers.length} stream readers hold one blocking socket each ` +
      `(${readers.join(', ')}); raise it to ${readers.length} or more`;
    throw new InvalidOptionsError('StreamRuntime', [{ path, message }]);
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
   * Stops reading, waits for running handlers (their leases are renewed), then aborts them; hands over what has not
   * begun. Final and idempotent: all callers share the first call.
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
    const { stream, group } = registration;
    const given = Object.fromEntries([...registration.options].map(([name, { value }]) => [name, value]));
    const scope = {
      context: this.context,
      stream,
      group,
      consumer: this.#consumer,
      label: `${stream}/${group}`,
      keys: groupKeys(this.context.keys, stream, group),
      options: withReaderDefaults(given),
      abandonAfter: this.options.abandonAfter,
    };
    const reader = new StreamReader(scope, registration.routes);
    registration.reader = reader;
    void reader.ready.then(registration.becomeReady);
    reader.start();
  }

  #registration(stream: string, group: string): Registration {
    const id = JSON.stringify([stream, group]);
    const known = this.#registrations.get(id);
    if (known !== undefined) return known;
    // A name that makes no key fails here, at boot, not in the reader.
    groupKeys(this.context.keys, stream, group);
    let becomeReady = (): void => undefined;
    const ready = new Promise<void>((resolve) => (becomeReady = resolve));
    const made = { stream, group, routes: new Routes(), options: new Map(), reader: undefined, ready, becomeReady };
    this.#registrations.set(id, made);
    return made;
  }
}

/** What one consumer says of the reader holds for all; two that say different things cannot both be right. */
function mergeOptions(registration: Registration, given: Partial<ResolvedReaderOptions>, where: string): void {
  const { stream, group, options, reader } = registration;
  for (const [name, value] of Object.entries(given) as [keyof ResolvedReaderOptions, unknown][]) {
    const known = options.get(name);
    if (known !== undefined && JSON.stringify(known.value) !== JSON.stringify(value)) {
      const message = `differs from that of ${known.by}: both read ${stream}/${group} with one reader; say it once`;
      throw new InvalidOptionsError(where, [{ path: name, message }]);
    }
    if (known === undefined && reader !== undefined) {
      throw new InvalidOptionsError(where, [
        { path: name, message: `comes too late: ${stream}/${group} is being read` },
      ]);
    }
  }
  for (const [name, value] of Object.entries(given) as [keyof ResolvedReaderOptions, unknown][]) {
    if (!options.has(name)) options.set(name, { value, by: where });
  }
}

function typeConflict(
  { stream, group }: Registration,
  types: readonly string[] | undefined,
  where: string,
  rival: string,
): InvalidOptionsError {
  const what =
    types === undefined ? 'all types that nobody else takes' : `type ${types.map((type) => `'${type}'`).join(', ')}`;
  const message = `${rival} already takes ${what} of ${stream}/${group}; a message has one handler in a group: give each its own 'type', or its own 'group'`;
  return new InvalidOptionsError(where, [{ path: 'type', message }]);
}
