import { handlerMark } from '../../nest/handlers/handler-mark.js';
import type { Channel, ChannelPattern } from '../channel-book.js';
import type { SubscriptionOptions } from '../pubsub.options.js';

export interface SubscribeMark {
  readonly channel: Channel | ChannelPattern;
  readonly options: SubscriptionOptions;
}

export const subscribeMark = handlerMark<SubscribeMark>('@Subscribe', 'nestjs-redis-patterns:subscriptions');
export const gapMark = handlerMark<Channel | ChannelPattern>(
  '@OnSubscriptionGap',
  'nestjs-redis-patterns:subscription-gaps',
);

/**
 * Has a method of a provider or controller handle the messages of a channel, or of all channels that fit a pattern, in every
 * process that runs it. Without `concurrency` it gets them one after the other, in order; what it throws is logged.
 *
 * The method is called through Nest, so that guards, pipes, interceptors, filters and parameter decorators apply (the type of
 * their `ExecutionContext` is `'pubsub'`); without parameter decorators it gets `(payload, context)`.
 *
 * @param options checked when the application starts; an `InvalidOptionsError` names `Class.method`
 * @example
 * ```ts
 * @Subscribe('stock')
 * show(@MessageBody() stock: Stock, @MessageContext() { channel }: PubSubContext): void { … }
 *
 * @OnSubscriptionGap('stock')
 * reload(gap: SubscriptionGap): Promise<void> { … }
 * ```
 */
export function Subscribe(channel: Channel | ChannelPattern, options: SubscriptionOptions = {}): MethodDecorator {
  return subscribeMark.mark({ channel, options });
}

/**
 * Has a method hear of the gaps of a channel or pattern: messages may be missing, and the next one of that subscription waits
 * until the method has ended. It gets the {@link SubscriptionGap}, once for each subscription that has the gap.
 *
 * @param channel as `@Subscribe` or `subscribe()` has it
 */
export function OnSubscriptionGap(channel: Channel | ChannelPattern): MethodDecorator {
  return gapMark.mark(channel);
}
