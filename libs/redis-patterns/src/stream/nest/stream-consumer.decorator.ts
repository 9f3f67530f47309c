import { handlerMark } from '../../nest/handlers/handler-mark.js';
import type { StreamConsumerOptions } from '../consumer.options.js';
import type { EventType, StreamEvents } from '../stream-definition.js';

export const consumerMark = handlerMark<StreamConsumerOptions>(
  '@StreamConsumer',
  'nestjs-redis-patterns:stream-consumers',
);

/**
 * Has a method of a provider or controller handle the messages of a stream, for a consumer group. A method that resolves
 * acknowledges its message; one that throws has it run again after a back-off, until it becomes a dead letter.
 *
 * The method is called through Nest, so that guards, pipes, interceptors, filters and parameter decorators apply (the
 * type of their `ExecutionContext` is `'stream'`); without parameter decorators it gets `(body, context)`. Methods of equal
 * stream and group share one reader and are chosen by `type`. With `batch` the payload is a list, and `ctx.messages` too.
 *
 * @param options checked when the application starts; an `InvalidOptionsError` names `Class.method`
 * @example
 * ```ts
 * @StreamConsumer({ stream: 'orders', group: 'billing', type: 'placed' })
 * async bill(@MessageBody() order: Order, @MessageContext() ctx: StreamContext): Promise<void> {
 *   await this.invoices.create(order, { idempotencyKey: ctx.messageId });
 * }
 * ```
 */
export function StreamConsumer<
  Events extends StreamEvents = StreamEvents,
  Type extends EventType<Events> = EventType<Events>,
>(options: StreamConsumerOptions<Events, Type>): MethodDecorator {
  return consumerMark.mark(options as unknown as StreamConsumerOptions);
}

/** What `@StreamConsumer` said of a method, in the order of writing. */
export function consumersOf(method: object): readonly StreamConsumerOptions[] {
  return consumerMark.of(method);
}
