import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { RedisPatternsOtelModule } from '../../../libs/redis-patterns/src/otel/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openShop, type ShopApp } from './shop-app.js';
import { RecordedSpans } from './spans.js';

describeOnEachTopology('traces', (topology) => {
  const spans = new RecordedSpans();
  let shop: ShopApp;

  beforeAll(async () => {
    spans.install();
    shop = await openShop(topology, { imports: [RedisPatternsOtelModule.forRoot({ commandSpans: true })] });
  });
  beforeEach(() => spans.forget());
  afterAll(async () => {
    await shop.app.close();
    await spans.remove();
  });

  it('nests what a cached method does, and says hit and miss', async () => {
    await shop.shop.find('7');
    expect(spans.path(spans.one('select product'))).toEqual(['cache.get', 'cache.load', 'select product']);
    const miss = spans.one('cache.get');
    expect(miss.kind).toBe(SpanKind.INTERNAL);
    expect(miss.attributes).toMatchObject({
      'redis_patterns.name': 'Shop.find',
      'redis_patterns.key_template': 'product:{}',
      'redis_patterns.connection': 'default',
      'redis_patterns.outcome': 'miss',
    });
    spans.forget();
    await shop.shop.find('7');
    expect(spans.one('cache.get').attributes).toMatchObject({
      'redis_patterns.outcome': 'hit',
      'redis_patterns.source': 'redis',
    });
    const command = spans.all.find(({ kind }) => kind === SpanKind.CLIENT)!;
    expect(spans.path(command)).toEqual(['cache.get', command.name]);
    expect(command.attributes).toMatchObject({ 'db.system.name': 'redis', 'db.operation.name': command.name });
  });

  it('nests what runs under a lock, below the span of the caller', async () => {
    await trace.getTracer('shop').startActiveSpan('POST /orders', async (request) => {
      await shop.shop.reserve('7');
      request.end();
    });
    expect(spans.path(spans.one('update stock'))).toEqual(['POST /orders', 'lock.held', 'update stock']);
    expect(spans.path(spans.one('lock.acquire'))).toEqual(['POST /orders', 'lock.acquire']);
    const script = spans.all.find(({ attributes }) => attributes['db.stored_procedure.name'] === 'lock.acquire');
    expect(spans.path(script!)).toEqual(['POST /orders', 'lock.acquire', 'EVALSHA']);
    expect(spans.one('lock.acquire').attributes).toMatchObject({
      'redis_patterns.name': 'Shop.reserve',
      'redis_patterns.outcome': 'acquired',
    });
  });

  it('follows a message from its sender to its handler, by a link', async () => {
    await shop.producer.publish('orders', { id: '7' });
    await eventually(() => expect(spans.names()).toContain('process orders'), { timeout: 15_000 });
    const [send, process] = [spans.one('send orders'), spans.one('process orders')];
    expect([send.kind, process.kind]).toEqual([SpanKind.PRODUCER, SpanKind.CONSUMER]);
    expect(spans.path(spans.one('insert invoice'))).toEqual(['process orders', 'insert invoice']);
    expect(process.links.map((link) => link.context.spanId)).toEqual([send.spanContext().spanId]);
    expect(process.spanContext().traceId).not.toBe(send.spanContext().traceId);
    expect(process.attributes).toMatchObject({
      'messaging.system': 'redis',
      'messaging.operation.name': 'process',
      'messaging.destination.name': 'orders',
      'messaging.consumer.group.name': 'billing',
      'redis_patterns.outcome': 'ack',
      'redis_patterns.attempts': 1,
    });
  });

  it('calls a failure an error, and a refusal none', async () => {
    const key = ['user', 'refused'] as const;
    for (let call = 0; call < 3; call++) await shop.limits.consume('api', key);
    const decisions = spans.all.filter(({ name }) => name === 'ratelimit.consume');
    expect(decisions.map(({ attributes }) => attributes['redis_patterns.outcome'])).toEqual([
      'allowed',
      'allowed',
      'denied',
    ]);
    await expect(shop.cache.getOrSet(['product', 'none'], () => Promise.reject(new TypeError('no')))).rejects.toThrow();
    const failed = spans.one('cache.load');
    expect(failed.attributes['error.type']).toBe('TypeError');
    // A script that the server does not know yet is an error of a command, and of nobody else.
    const ours = spans.all.filter(
      ({ kind, status }) => kind !== SpanKind.CLIENT && status.code === SpanStatusCode.ERROR,
    );
    expect(ours.map(({ name }) => name)).toEqual(['cache.load', 'cache.get']);
  });
});
