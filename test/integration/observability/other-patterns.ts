import { Injectable } from '@nestjs/common';
import {
  BloomFilterService,
  CounterService,
  FeedService,
  LeaderboardService,
  MessageBody,
  PubSubService,
  SemaphoreService,
  SessionService,
  StreamConsumer,
  Subscribe,
  TokenService,
  UniqueCounterService,
} from 'nestjs-redis-patterns';
import { patternParts } from '../../../libs/redis-patterns/src/nest/pattern-parts.js';
import { PatternsApp } from '../../../libs/redis-patterns/src/nest/patterns-app.js';
import { RedisThrottlerStorage } from '../../../libs/redis-patterns/src/throttler/redis-throttler-storage.js';
import { CountingLocal } from '../throttler/test-storage.js';
import type { Order, ShopApp } from './shop-app.js';

/** Handlers of messages that come together, and of those that are broadcast. */
@Injectable()
export class Listeners {
  readonly batches: Order[][] = [];
  readonly heard: unknown[] = [];

  @StreamConsumer({
    stream: 'returns',
    group: 'stock',
    block: 200,
    batch: { size: 2, wait: '5s' },
    retry: { attempts: 1, backoff: { base: 5, max: 10 } },
  })
  async restock(@MessageBody() orders: Order[]): Promise<void> {
    this.batches.push(orders);
    await Promise.resolve();
    if (orders.some(({ fail }) => fail)) throw new Error('cannot restock');
  }

  @Subscribe('news')
  hear(@MessageBody() news: unknown): void {
    this.heard.push(news);
    if (news === 'bad') throw new TypeError('no');
  }
}

const DAY = 86_400_000;
const HIT = { ttl: DAY, limit: 1, blockDuration: 0, throttlerName: 'burst' };

/** What `@nestjs/throttler` would be given: its own package is CommonJS that Jest cannot load. */
export function throttlerOf({ app }: ShopApp): RedisThrottlerStorage {
  const part = patternParts.find(({ option }) => option === 'rateLimit')!;
  const context = app.get(PatternsApp).engineContext(part);
  return new RedisThrottlerStorage(
    context,
    { deadline: 5000, onStoreError: 'local', localShare: 1 },
    new CountingLocal(),
  );
}

/** Calls each pattern of data once or twice, with `secret` wherever a value can be. */
export function callOtherPatterns(shop: ShopApp, secret: string): Promise<unknown>[] {
  const of = shop.app.get.bind(shop.app);
  const [sessions, tokens, throttler] = [of(SessionService), of(TokenService), throttlerOf(shop)];
  const board = of(LeaderboardService).board(['board', secret]);
  const feed = of(FeedService).feed(['user', secret]);
  return [
    sessions.create({ name: secret }, { principal: secret }).then(async ({ id }) => {
      await sessions.get(id);
      await sessions.destroy(id);
      await sessions.get(id);
      await sessions.update(id, { name: secret }, { ifVersion: 7 });
    }),
    tokens.issue(secret, { secret }, { principal: secret }).then(async (token) => {
      await tokens.consume(secret, token);
      await tokens.verify(secret, token);
    }),
    board.submit(secret, 1, { secret }).then(() => board.rank(secret)),
    feed.push({ secret }).then(() => feed.markRead()),
    of(FeedService).fanOut([['user', secret]], { secret }),
    of(CounterService).incr(['views', secret]),
    of(UniqueCounterService).counter(['visitors', secret]).add(secret),
    of(BloomFilterService).filter(['seen', secret], { capacity: 100, errorRate: 0.1, ttl: '1d' }).add(secret),
    throttler.incrementAll([{ ...HIT, key: secret }]).then(() => throttler.incrementAll([{ ...HIT, key: secret }])),
    of(SemaphoreService).using(['printer', secret], { limit: 5, permits: 3, wait: '2s' }, () => secret),
    of(PubSubService).publish(['room', secret], { secret }),
    of(PubSubService).publish('news', secret),
  ];
}
