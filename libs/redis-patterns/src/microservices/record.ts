import { checkOptionNames, InvalidOptionsError } from '../core/index.js';
import type { PublishOptions } from '../stream/index.js';
import { OWN_HEADERS } from './wire.js';

/** What goes with the data of a {@link RedisStreamsRecord}: as of `StreamProducer.publish()`; the type is the pattern. */
export interface RedisStreamsRecordOptions extends Omit<PublishOptions, 'type'> {
  /**
   * Events only: however often one is emitted under this id to a stream within `stream.dedupTtl`, it is one. A request would have no
   * reply of its own.
   */
  dedupId?: string;
  /** Events only: keeps it back, by the clock of Redis. */
  delay?: PublishOptions['delay'];
}

const WHERE = 'RedisStreamsRecordBuilder.setOptions()';
const OPTIONS = ['key', 'dedupId', 'delay', 'headers', 'replicaAck'];

/** Data of a message and what goes with it, for `emit()` and `send()`; {@link RedisStreamsRecordBuilder} makes it. */
export class RedisStreamsRecord<Data = unknown> {
  /** @throws InvalidOptionsError for what is no option, and for headers that are the transport's own */
  constructor(
    readonly data: Data,
    readonly options: RedisStreamsRecordOptions = {},
  ) {
    checkOptionNames(options, OPTIONS, WHERE);
    for (const name in options.headers) {
      if (!OWN_HEADERS.has(name)) continue;
      throw new InvalidOptionsError(WHERE, [
        { path: `headers.${name}`, message: 'is set by the transport; take another name' },
      ]);
    }
  }
}

/**
 * Makes records, as those of Nest's own transports do.
 *
 * @example
 * ```ts
 * const record = new RedisStreamsRecordBuilder({ orderId }).setOptions({ key: orderId, dedupId: `placed-${orderId}` }).build();
 * await lastValueFrom(this.bus.emit('order.placed', record), { defaultValue: undefined });
 * ```
 */
export class RedisStreamsRecordBuilder<Data = unknown> {
  #data: Data | undefined;
  #options: RedisStreamsRecordOptions = {};

  constructor(data?: Data) {
    this.#data = data;
  }

  setData(data: Data): this {
    this.#data = data;
    return this;
  }

  /** In place of those before. Their values are checked when the message is sent. */
  setOptions(options: RedisStreamsRecordOptions): this {
    this.#options = options;
    return this;
  }

  /** @throws InvalidOptionsError as {@link RedisStreamsRecord} */
  build(): RedisStreamsRecord<Data> {
    return new RedisStreamsRecord(this.#data as Data, this.#options);
  }
}

/** What `emit()` or `send()` was given. */
export function recordOf(data: unknown): RedisStreamsRecord {
  return data instanceof RedisStreamsRecord ? data : new RedisStreamsRecord(data);
}

/** @throws InvalidOptionsError for options that only an event can have */
export function checkRequest({ options }: RedisStreamsRecord): void {
  for (const name of ['dedupId', 'delay'] as const) {
    if (options[name] === undefined) continue;
    const message = 'is for emit(): a request waits for a reply of its own, and no longer than requestTimeout';
    throw new InvalidOptionsError('RedisStreamsClient.send()', [{ path: name, message }]);
  }
}
