import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { StreamRuntime } from 'nestjs-redis-patterns';
import { RedisPatternsMetricsModule } from '../../../libs/redis-patterns/src/metrics/index.js';
import { METRICS } from '../../../libs/redis-patterns/src/telemetry/metrics/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openShop, type ShopApp } from './shop-app.js';
import { samples } from './scrape.js';

describeOnEachTopology('metrics', { user: ['cache', 'rateLimit', 'lock', 'stream', 'idempotency'] }, (topology) => {
  const registry = new Registry();
  let shop: ShopApp;

  beforeAll(async () => {
    shop = await openShop(topology, {
      options: { stream: { autoStart: false } },
      imports: [RedisPatternsMetricsModule.forRoot({ registry })],
    });
  });
  afterAll(() => shop.app.close());

  it('counts hits, misses and loads as they were', async () => {
    for (const id of ['1', '2', '1', '1']) await shop.shop.find(id);
    await shop.cache.getOrSetMany(
      [
        ['product', '1'],
        ['product', '3'],
      ],
      (missing) => Promise.resolve(new Map(missing.map((key) => [key, 'made']))),
    );
    await shop.cache.evict(['product', '1']);
    const text = await registry.metrics();
    const found = samples(text, 'redis_patterns_cache_requests_total');
    expect(found).toContainEqual([{ connection: 'default', name: 'Shop.find', tier: 'redis', outcome: 'hit' }, 2]);
    expect(found).toContainEqual([{ connection: 'default', name: 'Shop.find', tier: 'load', outcome: 'miss' }, 2]);
    const many = found.filter(([{ name }]) => name === 'CacheService.getOrSetMany');
    expect(Object.fromEntries(many.map(([{ outcome }, value]) => [outcome, value]))).toEqual({ hit: 1, miss: 1 });
    expect(samples(text, 'redis_patterns_cache_load_seconds_count')).toContainEqual([
      { connection: 'default', name: 'Shop.find', outcome: 'ok' },
      2,
    ]);
    expect(samples(text, 'redis_patterns_cache_invalidations_total')).toEqual([
      [{ connection: 'default', operation: 'evict', outcome: 'done' }, 1],
    ]);
  });

  it('counts what each policy said, and waits for locks', async () => {
    for (let call = 0; call < 5; call++) await shop.limits.consume('api', ['user', 'metered']);
    const held = await shop.locks.acquire('measured');
    expect(await shop.locks.tryAcquire('measured')).toBeNull();
    const waiting = shop.locks.using('measured', { wait: '5s' }, () => 'done');
    await held.release();
    await waiting;
    await shop.idempotency.run(['order', '1'], 'a', () => 1);
    await shop.idempotency.run(['order', '1'], 'a', () => 2);
    await expect(shop.idempotency.run(['order', '1'], 'b', () => 3)).rejects.toThrow();
    const text = await registry.metrics();
    expect(outcomes(text, 'ratelimit_decisions_total')).toEqual({ allowed: 2, denied: 3 });
    expect(outcomes(text, 'lock_acquire_total')).toEqual({ acquired: 2, busy: 1 });
    expect(outcomes(text, 'lock_wait_seconds_count')).toEqual({ acquired: 2, busy: 1 });
    expect(samples(text, 'redis_patterns_lock_held_seconds_count')).toEqual([
      [{ connection: 'default', kind: 'lock', name: 'LockService.using' }, 1],
    ]);
    expect(outcomes(text, 'idempotency_total')).toEqual({ executed: 1, replayed: 1, mismatch: 1 });
    expect(samples(text, 'redis_patterns_up')).toContainEqual([{ connection: 'default', role: 'command' }, 1]);
  });

  it('shows the lag of a group, and what became of its messages', async () => {
    await shop.producer.publish('orders', { id: '1' });
    await shop.producer.publish('orders', { id: '2', fail: true });
    shop.app.get(StreamRuntime).start();
    await eventually(
      async () =>
        expect(outcomes(await registry.metrics(), 'stream_processed_total')).toEqual({
          ack: 1,
          retry: 1,
          dead_letter: 1,
        }),
      { timeout: 15_000 },
    );
    await eventually(async () => {
      const text = await registry.metrics();
      expect(outcomes(text, 'stream_published_total')).toEqual({ published: 2 });
      expect(samples(text, 'redis_patterns_stream_dead_letters_total')).toEqual([
        [{ connection: 'default', stream: 'orders', group: 'billing', reason: 'max-attempts' }, 1],
      ]);
      const labels = { connection: 'default', stream: 'orders', group: 'billing' };
      for (const gauge of ['lag_entries', 'pending_entries', 'oldest_pending_seconds', 'inflight']) {
        expect(samples(text, `redis_patterns_stream_${gauge}`)).toEqual([[labels, expect.any(Number)]]);
      }
    });
  });

  it('has a line for every metric of the table, and no other', async () => {
    const text = await registry.metrics();
    const named = [...text.matchAll(/^# TYPE redis_patterns_(\S+) /gm)].map(([, name]) => name);
    expect(new Set(named)).toEqual(new Set(Object.keys(METRICS)));
  });
});

/** Sums of a metric by outcome. */
function outcomes(text: string, name: string): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [{ outcome = '' }, value] of samples(text, `redis_patterns_${name}`)) {
    sums[outcome] = (sums[outcome] ?? 0) + value;
  }
  return sums;
}
