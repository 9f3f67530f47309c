import { hasMarks } from '../../nest/handlers/handler-mark.js';
import type { PatternPart } from '../../nest/pattern-part.js';
import { resolvePubSubOptions, type ResolvedPubSubOptions } from '../pubsub.options.js';
import { PubSubExplorer } from './pubsub-explorer.js';
import { PubSubService } from './pubsub.service.js';
import { gapMark, subscribeMark } from './subscribe.decorator.js';

/** What pub/sub adds to the module. */
export const pubSubPart: PatternPart<ResolvedPubSubOptions> = {
  option: 'pubsub',
  // Only reliable channels keep anything, and what is lost of that is told.
  keeps: 'cache',
  resolve: resolvePubSubOptions,
  services: [{ token: PubSubService, create: (context, options) => new PubSubService(context, options) }],
  decorators: [],
  marks: (owner) => hasMarks(owner, [subscribeMark, gapMark]),
  providers: [PubSubExplorer],
};
