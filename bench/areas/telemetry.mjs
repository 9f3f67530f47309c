// What it costs to be watched: a cache hit and a free lock with nobody listening, with metrics, with spans, and with both; and raw ioredis
// with a subscriber of its own tracing channel, beside raw ioredis without. What it costs that one could be: `unheard`.
import 'reflect-metadata';
import { tracingChannel } from 'node:diagnostics_channel';
import { NestFactory } from '@nestjs/core';
import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { CacheService, LockService, RedisPatternsModule, RedisTelemetry, SessionService } from 'nestjs-redis-patterns';
import { RedisPatternsMetricsModule } from 'nestjs-redis-patterns/metrics';
import { RedisPatternsOtelModule } from 'nestjs-redis-patterns/otel';
import { Registry } from 'prom-client';
import { commandCounter } from '../lib/commands.mjs';
import { openRaw } from '../lib/context.mjs';
import { measureScenario } from '../lib/measure.mjs';
import { guarded, lookCost, unheard } from '../lib/unheard.mjs';

const VALUE = { id: 42, name: 'Kettle', price: 89 };
const LEASE = 30_000;

/** Spans that go nowhere: what is measured is what the application pays while it runs. */
const tracer = () => new BasicTracerProvider().getTracer('bench');
const metrics = () => RedisPatternsMetricsModule.forRoot({ registry: new Registry() });
const otel = () => RedisPatternsOtelModule.forRoot({ tracer: tracer(), meter: false });
const WATCHERS = {
  nobody: () => [],
  metrics: () => [metrics()],
  otel: () => [otel()],
  both: () => [metrics(), otel()],
};

export async function telemetry(url) {
  const raw = openRaw(url);
  const manager = new AsyncLocalStorageContextManager();
  const watch = tracingChannel('ioredis:command');
  const listener = { start() {}, end() {}, asyncStart() {}, asyncEnd() {}, error() {} };
  // One application at a time: while one listens, the channels are open for all of the process.
  const alone = (name, rawArm, armOf) => ({
    name,
    measure: async (plan) => {
      const measure = async (arm) =>
        measureScenario('telemetry', { name, arms: [arm] }, { ...plan, callers: [1, 64] }, commandCounter(raw));
      const rows = await measure({ name: 'raw', ...rawArm(raw) });
      watch.subscribe(listener);
      rows.push(...(await measure({ name: 'raw, channel', ...rawArm(raw) })));
      watch.unsubscribe(listener);
      for (const [watcher, modules] of Object.entries(WATCHERS)) {
        if (watcher === 'otel' || watcher === 'both') context.setGlobalContextManager(manager.enable());
        const app = await open(url, modules());
        rows.push(...(await measure({ name: `ours, ${watcher}`, ...(await armOf(app)) })));
        await app.close();
        context.disable();
      }
      return rows.map((row) => ({ ...row, ratioToRaw: ratio(row, rows) }));
    },
  });
  return {
    scenarios: [
      { name: 'look', measure: () => Promise.resolve(lookCost()) },
      unheardScenario(url, raw, 'unheard hit', rawHit, hitArm),
      unheardScenario(url, raw, 'unheard lock', rawLock, lockArm),
      unheardScenario(url, raw, 'unheard session', rawHit, sessionArm),
      alone('hit', rawHit, hitArm),
      alone('acquire + release', rawLock, lockArm),
    ],
    close: async () => raw.disconnect(),
  };
}

/** Here all arms take turns: a subscriber comes before its slice, and goes after it. */
function unheardScenario(url, raw, name, rawArm, armOf) {
  return {
    name,
    measure: async (plan) => {
      const app = await open(url, []);
      const { setup, run } = rawArm(raw);
      await setup?.();
      const ours = await armOf(app);
      const heard = {
        prepare: () => app.get(RedisTelemetry).onOperation(() => {}),
        clear: (end) => end(),
      };
      const rows = await unheard(
        [
          ...guarded(run),
          { name: 'ours, nobody', ...ours },
          { name: 'ours, a subscriber', beside: 'ours, nobody', ...ours, ...heard },
        ],
        plan,
      );
      await app.close();
      return rows;
    },
  };
}

function open(url, imports) {
  class Root {}
  const module = {
    module: Root,
    imports: [RedisPatternsModule.forRoot({ namespace: 'bench', connection: url }), ...imports],
  };
  return NestFactory.createApplicationContext(module, { logger: ['error', 'warn'] });
}

/** Each arm was measured alone: beside the raw one with as many callers. */
function ratio({ callers, opsPerSecond }, rows) {
  const beside = rows.find((row) => row.arm === 'raw' && row.callers === callers);
  return Math.round((opsPerSecond / beside.opsPerSecond) * 100) / 100;
}

function rawHit(raw) {
  return {
    setup: () => raw.set('bench:telemetry', JSON.stringify(VALUE)),
    run: async () => done(JSON.parse(await raw.get('bench:telemetry')).id === 42),
  };
}

function rawLock(raw) {
  let serial = 0;
  return {
    run: async () => {
      const key = `bench:telemetry:${serial++}`;
      done((await raw.set(key, 'token', 'PX', LEASE, 'NX')) === 'OK');
      done((await raw.del(key)) === 1);
    },
  };
}

async function hitArm(app) {
  const cache = app.get(CacheService);
  const key = ['telemetry', 42];
  return {
    setup: () => cache.set(key, VALUE, { ttl: '10m' }),
    run: async () => done((await cache.getOrSet(key, () => VALUE, { ttl: '10m' })).id === 42),
  };
}

async function sessionArm(app) {
  const sessions = app.get(SessionService);
  const { id } = await sessions.create(VALUE);
  return { run: async () => done((await sessions.get(id)).data.id === 42) };
}

async function lockArm(app) {
  const locks = app.get(LockService);
  let serial = 0;
  return { run: async () => done(await locks.using(['telemetry', serial++], { lease: LEASE }, () => true)) };
}

function done(ok) {
  if (!ok) throw new Error('the call did not do what it should');
}
