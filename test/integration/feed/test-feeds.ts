import { FeedService } from 'nestjs-redis-patterns';
import { resolveFeedOptions } from '../../../libs/redis-patterns/src/feed/feed.options.js';
import { openEngine, type OpenEngine } from '../../support/engine.js';
import type { PlainConnection } from '../../support/topologies.js';

/** Feeds without NestJS. Whoever opens them closes the engine. */
export async function openFeeds(setup: {
  connection: PlainConnection;
  namespace: string;
}): Promise<{ feeds: FeedService; engine: OpenEngine }> {
  // The machine of the tests is slow at times, and only specs of faults are about the deadline.
  const engine = await openEngine(setup, { commandTimeout: 5000 });
  return { engine, feeds: new FeedService(engine.context, resolveFeedOptions({}, 'the spec')) };
}
