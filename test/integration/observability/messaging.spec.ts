import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { SpanKind } from '@opentelemetry/api';
import {
  AggregationTemporality,
  type DataPoint,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { PubSubService } from 'nestjs-redis-patterns';
import { RedisPatternsOtelModule } from '../../../libs/redis-patterns/src/otel/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { Listeners } from './other-patterns.js';
import { openShop, type ShopApp } from './shop-app.js';
import { RecordedSpans } from './spans.js';

const PATIENT = { timeout: 15_000 };

function millisOf([seconds, nanos]: readonly [number, number]): number {
  return seconds * 1000 + nanos / 1e6;
}

describeOnEachTopology('messaging', (topology) => {
  const spans = new RecordedSpans();
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  // It is asked by the tests; its own period is longer than they run.
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  let shop: ShopApp;
  let listeners: Listeners;

  beforeAll(async () => {
    spans.install();
    shop = await openShop(topology, {
      imports: [RedisPatternsOtelModule.forRoot({ meter: provider.getMeter('shop'), commandSpans: true })],
      providers: [Listeners],
    });
    listeners = shop.app.get(Listeners);
  });
  beforeEach(() => spans.forget());
  afterAll(async () => {
    await shop.app.close();
    await provider.shutdown();
    await spans.remove();
  });

  /** Sums of a metric, or counts of a histogram, by operation and error, for what went to `destination`. */
  const measured = async (name: string, destination?: string): Promise<Record<string, number>> => {
    exporter.reset();
    await provider.forceFlush();
    const metrics = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
    const found = metrics.find(({ descriptor }) => descriptor.name === name);
    const points = (found?.dataPoints ?? []) as readonly DataPoint<number | Histogram>[];
    const rows = points.filter(({ attributes }) => attributes['messaging.destination.name'] === destination);
    return Object.fromEntries(
      rows.map(({ attributes, value }) => {
        expect(attributes['messaging.system']).toBe('redis');
        const words = [attributes['messaging.operation.name'], attributes['messaging.consumer.group.name']];
        const label = [...words, attributes['error.type']].filter((word) => word !== undefined).join(' ');
        return [label, typeof value === 'number' ? value : value.count];
      }),
    );
  };
  const named = (name: string): ReadableSpan[] => spans.all.filter((span) => span.name === name);
  const linked = ({ links }: ReadableSpan): string[] => links.map(({ context }) => context.spanId).toSorted();
  const idsOf = (all: readonly ReadableSpan[]): string[] => all.map((span) => span.spanContext().spanId).toSorted();

  it('shows a batch as one span with links to all senders, and how it was received and acknowledged', async () => {
    await shop.producer.publishMany('returns', [{ payload: { id: '1' } }, { payload: { id: '2' } }]);
    await eventually(() => expect(named('ack returns')).not.toHaveLength(0), PATIENT);
    const senders = idsOf(named('send returns'));
    expect(senders).toHaveLength(2);
    const [process] = named('process returns');
    expect(named('process returns')).toHaveLength(1);
    expect(linked(process!)).toEqual(senders);
    expect(process!.kind).toBe(SpanKind.CONSUMER);
    expect(process!.parentSpanContext).toBeUndefined();
    expect(process!.attributes).toMatchObject({
      'messaging.batch.message_count': 2,
      'messaging.operation.type': 'process',
      'redis_patterns.name': 'Listeners.restock',
      'redis_patterns.outcome': 'ack',
    });

    const received = named('receive returns');
    expect(received.flatMap(linked).toSorted()).toEqual(senders);
    for (const span of received) {
      expect(span.kind).toBe(SpanKind.CLIENT);
      expect(span.attributes['messaging.operation.type']).toBe('receive');
      // It began when it was asked for, which is told when it is over: not after its end.
      expect(millisOf(span.startTime)).toBeLessThanOrEqual(millisOf(span.endTime));
    }
    const [ack] = named('ack returns');
    expect([ack!.kind, linked(ack!)]).toEqual([SpanKind.CLIENT, senders]);
    expect(ack!.attributes).toMatchObject({
      'messaging.operation.name': 'ack',
      'messaging.operation.type': 'settle',
      'messaging.consumer.group.name': 'stock',
      'messaging.batch.message_count': 2,
    });
    const command = spans.all.find(({ name }) => name === 'XACK');
    expect(spans.path(command!)).toEqual(['ack returns', 'XACK']);
  });

  it('has the metrics of the conventions, with what was sent, received, processed and acknowledged', async () => {
    await shop.producer.publishMany('returns', [{ payload: { id: '3', fail: true } }, { payload: { id: '4' } }]);
    await eventually(() => expect(named('process returns')).not.toHaveLength(0), PATIENT);
    expect(named('process returns')[0]!.attributes).toMatchObject({
      'redis_patterns.outcome': 'dead_letter',
      'error.type': 'Error',
    });
    await eventually(async () => {
      expect(await measured('messaging.client.sent.messages', 'returns')).toEqual({ send: 4 });
      expect(await measured('messaging.client.consumed.messages', 'returns')).toEqual({ 'receive stock': 4 });
      expect(await measured('messaging.process.duration', 'returns')).toEqual({
        'process stock': 1,
        'process stock Error': 1,
      });
      const client = await measured('messaging.client.operation.duration', 'returns');
      expect(client).toMatchObject({ send: 4, 'ack stock': 1 });
      expect(Object.keys(client)).not.toContain('process stock');
    }, PATIENT);
  });

  it('counts a broadcast when it is processed', async () => {
    await eventually(async () => {
      if (!listeners.heard.includes('counted')) await shop.app.get(PubSubService).publish('news', 'counted');
      expect(listeners.heard).toContain('counted');
    }, PATIENT);
    await eventually(async () => {
      const { process } = await measured('messaging.client.consumed.messages');
      expect(process).toBeGreaterThan(0);
      expect(await measured('messaging.process.duration')).toEqual({ process });
    }, PATIENT);
  });
});
