export { Feed, type FeedEntry, type FeedPageOptions, type PushOptions } from './feed.js';
export type { FeedDefinition, FeedLoader, FeedOptions, LoadedFeedDefinition, LoadedItem } from './feed.options.js';
export { FeedService, type FanOutOptions, type FanOutResult } from './feed.service.js';
