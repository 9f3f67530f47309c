import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { SpanStatusCode } from '@opentelemetry/api';
import { Registry } from 'prom-client';
import { PubSubService, SemaphoreService, SessionService } from 'nestjs-redis-patterns';
import { RedisPatternsMetricsModule } from '../../../libs/redis-patterns/src/metrics/index.js';
import { RedisPatternsOtelModule } from '../../../libs/redis-patterns/src/otel/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { killSubscribers } from '../pubsub/test-pubsub.js';
import { callOtherPatterns, Listeners } from './other-patterns.js';
import { samples } from './scrape.js';
import { openShop, type ShopApp } from './shop-app.js';
import { RecordedSpans } from './spans.js';

const PATIENT = { timeout: 15_000 };
const DATA = ['session', 'token', 'leaderboard', 'counting', 'feed'] as const;

describeOnEachTopology('telemetry of data', (topology) => {
  const registry = new Registry();
  const spans = new RecordedSpans();
  let shop: ShopApp;
  /** Samples of a metric, without the connection, which is the same in all. */
  const read = async (name: string): Promise<[Record<string, string>, number][]> =>
    samples(await registry.metrics(), `redis_patterns_${name}`).map(([{ connection, ...labels }, value]) => {
      expect(connection).toBe('default');
      return [labels, value];
    });
  const outcomesOf = async (name: string): Promise<string[]> =>
    (await read(name)).map(([labels, value]) => [...Object.values(labels), value].join(' ')).toSorted();

  beforeAll(async () => {
    spans.install();
    shop = await openShop(topology, {
      options: { stream: { autoStart: false } },
      imports: [RedisPatternsMetricsModule.forRoot({ registry }), RedisPatternsOtelModule.forRoot({ meter: false })],
      providers: [Listeners],
    });
    await Promise.all(callOtherPatterns(shop, 'mine'));
  });
  afterAll(async () => {
    await shop.app.close();
    await spans.remove();
  });

  it('counts the calls of sessions, tokens, leaderboards, counters and feeds, each once', async () => {
    const counted = await Promise.all(DATA.map((pattern) => outcomesOf(`${pattern}_operations_total`)));
    expect(counted).toEqual([
      [
        'SessionService.create done 1',
        'SessionService.destroy done 1',
        'SessionService.get done 1',
        'SessionService.get nothing 1',
        'SessionService.update nothing 1',
      ],
      ['TokenService.consume done 1', 'TokenService.issue done 1', 'TokenService.verify nothing 1'],
      ['Leaderboard.get done 1', 'Leaderboard.submit done 1'],
      ['BloomFilter.addMany done 1', 'Counter.incr done 1', 'UniqueCounter.addMany done 1'],
      ['Feed.markRead done 1', 'Feed.push done 1', 'FeedService.fanOut done 1'],
    ]);
    const timed = await read('operation_seconds_count');
    expect(new Set(timed.map(([{ pattern }]) => pattern))).toEqual(new Set(DATA));
    for (const name of ['session.get', 'token.consume', 'leaderboard.submit', 'counting.add-many', 'feed.fan-out'])
      expect(spans.names()).toContain(name);
  });

  it('calls a refusal that callers expect none of its own errors', async () => {
    const sessions = shop.app.get(SessionService);
    const { id } = await sessions.create({ cart: 1 });
    await expect(sessions.update(id, { cart: 2 }, { ifVersion: 99 })).rejects.toThrow();
    expect(await outcomesOf('session_operations_total')).toContain('SessionService.update conflict 1');
    const { attributes, status } = spans.all.findLast(({ name }) => name === 'session.update')!;
    expect([attributes['redis_patterns.outcome'], status.code]).toEqual(['conflict', SpanStatusCode.UNSET]);
    expect(attributes).not.toHaveProperty(['error.type']);
  });

  it('says what each limit of the throttler said', async () => {
    expect(await outcomesOf('throttler_decisions_total')).toEqual(['burst redis allowed 1', 'burst redis denied 1']);
    expect(spans.names().filter((name) => name === 'throttler.hit')).toHaveLength(2);
  });

  it('shows who waits for a load, how large values are, and who holds permits', async () => {
    let finish: (value: string) => void = () => undefined;
    const made = new Promise<string>((resolve) => (finish = resolve));
    const loads = ['a', 'b'].map(() => shop.cache.getOrSet(['waited', 'for'], () => made));
    await eventually(async () => expect(await read('cache_waiters')).toEqual([[{}, 2]]), PATIENT);
    const printing = shop.app.get(SemaphoreService).using('printer', { limit: 5, permits: 3, wait: '5s' }, async () => {
      expect(await read('semaphore_permits')).toEqual([[{ name: 'SemaphoreService.using' }, 3]]);
    });
    await printing;
    expect(await read('semaphore_permits')).toEqual([]);
    finish('x'.repeat(300));
    await Promise.all(loads);
    await eventually(async () => expect(await read('cache_waiters')).toEqual([[{}, 0]]), PATIENT);
    const sum = (await read('cache_value_bytes_sum')).find(([{ name }]) => name === 'CacheService.getOrSet');
    expect(sum![1]).toBeGreaterThanOrEqual(300);
    expect(sum![1]).toBeLessThan(400);
  });

  it('counts broadcasts, what handlers made of them, and gaps', async () => {
    const listeners = shop.app.get(Listeners);
    const pubsub = shop.app.get(PubSubService);
    await eventually(async () => {
      if (!listeners.heard.includes('good')) await pubsub.publish('news', 'good');
      expect(listeners.heard).toContain('good');
    }, PATIENT);
    await pubsub.publish('news', 'bad');
    await eventually(async () => {
      expect(await outcomesOf('pubsub_messages_total')).toContain('Listeners.hear error 1');
    }, PATIENT);
    expect(await outcomesOf('pubsub_published_total')).toEqual([expect.stringMatching(/^published \d+$/)]);
    const handled = spans.all.filter(({ name }) => name === 'process Listeners.hear');
    expect(handled.at(-1)!.attributes).toMatchObject({
      'messaging.operation.type': 'process',
      'error.type': 'TypeError',
    });
    expect(handled.every(({ parentSpanContext }) => parentSpanContext === undefined)).toBe(true);
    const sent = spans.all.find(({ attributes }) => attributes['messaging.destination.template'] === 'room:{}');
    expect(sent?.name).toBe('send room:{}');
    await killSubscribers(topology.nodes, topology.namespace);
    await eventually(async () => {
      expect(await outcomesOf('pubsub_gaps_total')).toContainEqual(
        expect.stringMatching(/^Listeners.hear disconnected/),
      );
    }, PATIENT);
  });
});
