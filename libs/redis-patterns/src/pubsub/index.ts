export type { Channel, ChannelPattern } from './channel-book.js';
export type { GapListener, GapReason, SubscriptionGap } from './gap.js';
export { checkChannel, PubSubEngine } from './pubsub.engine.js';
export { PubSubPayloadError, PubSubSubscribeError } from './pubsub.errors.js';
export type { PubSubContext, PubSubHandler } from './pubsub-context.js';
export {
  resolvePubSubOptions,
  type ChannelSettings,
  type Delivery,
  type PubSubOptions,
  type PubSubPublishOptions,
  type ResolvedPubSubOptions,
  type SubscribeOptions,
  type SubscriptionOptions,
} from './pubsub.options.js';
export { Subscription } from './subscription.js';
