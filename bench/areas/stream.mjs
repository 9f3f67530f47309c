// Publishing, and consuming a backlog with a handler that does nothing; every message is counted.
import { readFileSync } from 'node:fs';
import { StreamProducer, StreamRuntime } from 'nestjs-redis-patterns';
import { openApplication, openRaw } from '../lib/context.mjs';

const BACKLOG = 3000;
const payload = JSON.parse(readFileSync(new URL('../payloads/payloads.json', import.meta.url), 'utf8'))['100B'];
const FIELDS = ['type', '', 'data', JSON.stringify(payload), 'mid', '', 'key', '', 'headers', ''];

export async function stream(url) {
  const raw = openRaw(url);
  const app = await openApplication(url);
  const producer = app.get(StreamProducer);
  const publish = {
    name: 'publish 100 B',
    arms: [
      { name: 'raw', run: () => raw.xadd('raw:stream', 'MAXLEN', '~', 100_000, '*', ...FIELDS) },
      { name: 'ours', run: () => producer.publish('bench', payload) },
    ],
  };
  let serial = 0;
  const consume = {
    name: 'consume 100 B',
    arms: [
      { name: 'raw', slice: (callers) => rawConsume(url, raw, `raw:backlog:${serial++}`, callers) },
      { name: 'ours', slice: (callers) => ourConsume(url, raw, `backlog-${serial++}`, callers) },
    ],
  };
  const close = async () => {
    await app.close();
    raw.disconnect();
  };
  return { scenarios: [publish, consume], close };
}

async function fill(client, key) {
  const pipeline = client.pipeline();
  for (let i = 0; i < BACKLOG; i++) pipeline.xadd(key, '*', ...FIELDS);
  await pipeline.exec();
}

/** Counts, times and charges from the first read to the last message. */
function stopwatch() {
  const latencies = [];
  const cpu = process.cpuUsage();
  const began = performance.now();
  return {
    latencies,
    handled: () => void latencies.push(performance.now() - began),
    stop: () => {
      const used = process.cpuUsage(cpu);
      if (latencies.length !== BACKLOG) throw new Error(`${latencies.length} of ${BACKLOG} messages were handled`);
      return { ops: latencies.length, ms: performance.now() - began, latencies, cpuMicros: used.user + used.system };
    },
  };
}

async function rawConsume(url, client, key, callers) {
  await fill(client, key);
  await client.xgroup('CREATE', key, 'g', '0');
  const reader = openRaw(url);
  await reader.ping();
  const watch = stopwatch();
  const acks = [];
  while (watch.latencies.length < BACKLOG) {
    const reply = await reader.xreadgroup(
      'GROUP',
      'g',
      'c',
      'COUNT',
      Math.min(100, 2 * callers),
      'BLOCK',
      2000,
      'STREAMS',
      key,
      '>',
    );
    const ids = [];
    for (const [id, fields] of reply?.[0]?.[1] ?? []) {
      JSON.parse(fields[3]);
      watch.handled();
      ids.push(id);
    }
    acks.push(client.xack(key, 'g', ...ids));
  }
  await Promise.all(acks);
  const slice = watch.stop();
  reader.disconnect();
  await client.del(key);
  return slice;
}

async function ourConsume(url, client, name, callers) {
  await fill(client, `bench:stream:${name}`);
  const app = await openApplication(url);
  const runtime = app.get(StreamRuntime);
  const watch = stopwatch();
  await new Promise((resolve) => {
    runtime.consume({ stream: name, group: 'g', concurrency: callers }, async () => {
      watch.handled();
      if (watch.latencies.length === BACKLOG) resolve(undefined);
    });
    runtime.start();
  });
  const slice = watch.stop();
  await app.close();
  await client.del(`bench:stream:${name}`);
  return slice;
}
