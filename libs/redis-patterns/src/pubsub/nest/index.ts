export { pubSubPart } from './module-part.js';
export { PubSubService } from './pubsub.service.js';
export { OnSubscriptionGap, Subscribe } from './subscribe.decorator.js';
