import 'reflect-metadata';
import { InvalidOptionsError } from '../../core/errors.js';
import type { StreamConsumerOptions } from '../consumer.options.js';
import type { EventType, StreamEvents } from '../stream-definition.js';

/** On the method itself, as Nest does it: an override that is not decorated is no handler. */
const CONSUMERS = 'nestjs-redis-patterns:stream-consumers';

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
>(options: StreamConsumerOptions<Events, Type>) {
  return (target: object, key: string | symbol, descriptor: PropertyDescriptor): void => {
    const method: unknown = descriptor?.value;
    if (typeof method !== 'function' || typeof target === 'function' || typeof key === 'symbol') {
      throw new InvalidOptionsError(`@StreamConsumer on ${String(key)}`, [
        { path: '', message: 'is for instance methods with a text as their name; Nest calls no others' },
      ]);
    }
    Reflect.defineMetadata(CONSUMERS, [options as unknown, ...consumersOf(method)], method);
  };
}

/** What `@StreamConsumer` said of a method, in the order of writing. */
export function consumersOf(method: object): readonly StreamConsumerOptions[] {
  return (Reflect.getOwnMetadata(CONSUMERS, method) as StreamConsumerOptions[] | undefined) ?? [];
}
