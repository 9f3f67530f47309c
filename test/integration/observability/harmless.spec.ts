import { tracingChannel } from 'node:diagnostics_channel';
import { afterEach, expect, it } from '@jest/globals';
import type { Counter, Meter, Span, Tracer } from '@opentelemetry/api';
import { Registry } from 'prom-client';
import { RedisTelemetry } from 'nestjs-redis-patterns';
import { RedisPatternsMetricsModule } from '../../../libs/redis-patterns/src/metrics/index.js';
import { PatternsApp } from '../../../libs/redis-patterns/src/nest/patterns-app.js';
import { RedisPatternsOtelModule } from '../../../libs/redis-patterns/src/otel/index.js';
import { EVENTS, OPERATIONS } from '../../../libs/redis-patterns/src/telemetry/channels.js';
import { eventually } from '../../support/eventually.js';
import { describeOn } from '../../support/topologies.js';
import { callOtherPatterns } from './other-patterns.js';
import { samples, seriesCount } from './scrape.js';
import { openShop, type ShopApp } from './shop-app.js';

describeOn('standalone', 'telemetry', (topology) => {
  const open: ShopApp[] = [];
  const boot = async (...given: Parameters<typeof openShop>): Promise<ShopApp> => {
    const shop = await openShop(...given);
    open.push(shop);
    return shop;
  };
  afterEach(async () => {
    await Promise.all(open.splice(0).map(({ app }) => app.close()));
  });

  it.each(['startSpan', 'end', 'add', 'around before', 'around after', 'listener'])(
    'changes no result when %s throws',
    async (where) => {
      const shop = await boot(topology, { imports: [RedisPatternsOtelModule.forRoot(brokenOtel(where))] });
      const { telemetry } = shop.app.get(PatternsApp);
      if (where.startsWith('around')) {
        telemetry.around = (_, run) => {
          if (where === 'around after') void run();
          throw new Error(where);
        };
      }
      if (where === 'listener') {
        shop.app.get(RedisTelemetry).onOperation(() => {
          throw new Error(where);
        });
      }
      await expect(shop.shop.find('1')).resolves.toBe('select product 1');
      await expect(shop.shop.reserve('1')).resolves.toBe('update stock');
      const failing = () => Promise.reject(new TypeError('mine'));
      await expect(shop.cache.getOrSet(['none', where], failing)).rejects.toThrow('mine');
      await shop.producer.publish('orders', { id: where });
      await eventually(() => expect(shop.shop.handled).toContainEqual({ id: where }), { timeout: 15_000 });
    },
  );

  it('counts two applications of one process apart', async () => {
    const registries = [new Registry(), new Registry()];
    const [one, other] = await Promise.all(
      registries.map(async (registry) =>
        boot(
          { ...topology, namespace: await topology.newNamespace() },
          { imports: [RedisPatternsMetricsModule.forRoot({ registry })] },
        ),
      ),
    );
    await one!.shop.find('1');
    await one!.shop.find('1');
    await other!.shop.find('1');
    const found = await Promise.all(
      registries.map(async (registry) => samples(await registry.metrics(), 'redis_patterns_cache_requests_total')),
    );
    expect(found.map((rows) => rows.map(([{ outcome }, value]) => [outcome, value]))).toEqual([
      [
        ['miss', 1],
        ['hit', 1],
      ],
      [['miss', 1]],
    ]);
  });

  it('refuses a registry that has the metrics of another application, and leaves none behind', async () => {
    const registry = new Registry();
    const imports = [RedisPatternsMetricsModule.forRoot({ registry })];
    const first = await boot(topology, { imports });
    await expect(openShop(topology, { imports })).rejects.toThrow(/has 'redis_patterns_.*' already; give each/);
    await first.app.close();
    expect(registry.getMetricsAsArray()).toEqual([]);
  });

  it('has no series of its own for a key, and sends no command for a scrape', async () => {
    const registry = new Registry();
    const shop = await boot(topology, {
      options: { stream: { autoStart: false } },
      imports: [RedisPatternsMetricsModule.forRoot({ registry })],
    });
    const use = async (id: number): Promise<void> => {
      await shop.shop.find(`key-${id}`);
      await shop.cache.getOrSet(`text-${id}`, () => Promise.resolve(id));
      await shop.locks.using(['order', id], {}, () => id);
      await shop.limits.consume('api', ['user', id]);
      await shop.idempotency.run(['payment', id], 'a', () => id);
      if (id % 20 === 0) await Promise.all(callOtherPatterns(shop, `secret-${id}`));
    };
    await use(0);
    const before = seriesCount(await registry.metrics());
    await Promise.all(Array.from({ length: 200 }, (_, id) => use(id + 1)));
    let commands = 0;
    const count = (): void => void commands++;
    const { start } = tracingChannel('ioredis:command');
    start.subscribe(count);
    const after = seriesCount(await registry.metrics());
    start.unsubscribe(count);
    // A busy machine may add an outcome; one series for each key would be hundreds.
    expect(after - before).toBeLessThan(20);
    expect(commands).toBe(0);
  });

  it('leaves nobody subscribed when the applications have ended', async () => {
    const shop = await boot(topology, {
      options: { telemetry: { slow: '1s' } },
      imports: [
        RedisPatternsMetricsModule.forRoot({ registry: new Registry() }),
        RedisPatternsOtelModule.forRoot({ commandSpans: true }),
      ],
    });
    shop.app.get(RedisTelemetry).on('gap', () => undefined);
    const heard = (): boolean[] => [
      ...Object.values(EVENTS).map(({ hasSubscribers }) => hasSubscribers),
      ...Object.values(OPERATIONS).map(({ hasSubscribers }) => hasSubscribers),
      tracingChannel('ioredis:command').hasSubscribers,
    ];
    expect(heard()).toContain(true);
    const { telemetry } = shop.app.get(PatternsApp);
    await shop.app.close();
    expect(heard()).not.toContain(true);
    expect([telemetry.around, telemetry.carrier]).toEqual([undefined, undefined]);
  });
});

/** OpenTelemetry that throws in one place. */
function brokenOtel(where: string): { tracer: Tracer; meter: Meter } {
  const fail = (place: string) => (): void => {
    if (place === where) throw new Error(where);
  };
  const span = { setAttributes: () => span, setStatus: () => span, end: fail('end') } as unknown as Span;
  const instrument = {
    add: fail('add'),
    record: fail('add'),
    addCallback: () => undefined,
    removeCallback: () => undefined,
  } as unknown as Counter;
  const create = (): Counter => instrument;
  const tracer = {
    startSpan: () => {
      fail('startSpan')();
      return span;
    },
  } as unknown as Tracer;
  const meter = { createCounter: create, createHistogram: create, createObservableGauge: create } as unknown as Meter;
  return { tracer, meter };
}
