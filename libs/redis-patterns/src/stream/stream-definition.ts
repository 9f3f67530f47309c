import type { RetentionOptions } from './stream.options.js';

/** Payload types by event type. */
export type StreamEvents = object;

/** A stream as a value, see {@link defineStream}. */
export interface StreamDefinition<Events extends StreamEvents = StreamEvents> {
  readonly name: string;
  readonly retention?: RetentionOptions;
  /** Carries the types only; never set. */
  readonly events?: Events;
}

/** Whatever names a stream. */
export type StreamName = string | StreamDefinition;

/**
 * Says once what a stream is called and what it carries; accepted wherever a stream name is.
 *
 * @example
 * ```ts
 * interface OrderEvents { placed: { orderId: string }; cancelled: { orderId: string; reason: string } }
 * export const orders = defineStream<OrderEvents>({ name: 'orders' });
 *
 * await producer.publish(orders, { orderId: '7' }, { type: 'placed' }); // the payload must fit the type
 * ```
 */
export function defineStream<Events extends StreamEvents = StreamEvents>(
  definition: Pick<StreamDefinition<Events>, 'name' | 'retention'>,
): StreamDefinition<Events> {
  return Object.freeze({ ...definition });
}

export function streamNameOf(stream: StreamName): string {
  return typeof stream === 'string' ? stream : stream.name;
}
