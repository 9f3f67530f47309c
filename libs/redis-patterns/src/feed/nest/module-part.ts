import type { PatternPart } from '../../nest/pattern-part.js';
import { resolveFeedOptions, type ResolvedFeedOptions } from '../feed.options.js';
import { FeedService } from '../feed.service.js';

/** What feeds add to the module. */
export const feedPart: PatternPart<ResolvedFeedOptions> = {
  option: 'feed',
  keeps: 'durable',
  resolve: resolveFeedOptions,
  services: [{ token: FeedService, create: (context, options) => new FeedService(context, options) }],
  decorators: [],
};
