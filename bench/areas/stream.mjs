// Publishing, and consuming a backlog with a handler that does nothing; every message is counted.
import { readFileSync } from 'node:fs';
import { StreamProducer, StreamRuntime } from 'nestjs-redis-patterns';
import { openApplication, openRaw, peer } from '../lib/context.mjs';
import { bullmqArms } from '../lib/bullmq.mjs';
import { backlogOf, stopwatch } from '../lib/stopwatch.mjs';

const payload = JSON.parse(readFileSync(new URL('../payloads/payloads.json', import.meta.url), 'utf8'))['100B'];
const MESSAGE_ID = '00000000-0000-4000-8000-000000000000';
const FIELDS = ['type', '', 'data', JSON.stringify(payload), 'mid', MESSAGE_ID, 'key', '', 'headers', ''];

export async function stream(url) {
  const raw = openRaw(url);
  const app = await openApplication(url);
  const producer = app.get(StreamProducer);
  const modules = await peer('bullmq');
  const bullmq = modules && bullmqArms(modules[0], url, payload);
  const publish = {
    name: 'publish 100 B',
    arms: [
      counted('raw', raw, 'raw:stream', () => raw.xadd('raw:stream', 'MAXLEN', '~', 100_000, '*', ...FIELDS)),
      counted('ours', raw, 'bench:stream:bench', () => producer.publish('bench', payload)),
      ...(bullmq ? [bullmq.publish] : []),
    ],
  };
  const consume = {
    name: 'consume 100 B',
    arms: [rawConsumer(url, raw), ourConsumer(url, raw), ...(bullmq ? [bullmq.consume] : [])],
  };
  const close = async () => {
    await app.close();
    raw.disconnect();
  };
  return { scenarios: [publish, consume], close };
}

/** An arm whose entries must all stand in the stream in the end. */
function counted(name, client, key, add) {
  let added = 0;
  const run = async () => {
    await add();
    added++;
  };
  const teardown = async () => {
    const info = await client.xinfo('STREAM', key);
    const stored = info[info.indexOf('entries-added') + 1];
    if (stored !== added) throw new Error(`${name}: ${added} messages were published, ${stored} arrived`);
    await client.del(key);
  };
  return { name, run, teardown };
}

/** The same stream and group for both arms. */
async function fill(client, key, count) {
  const pipeline = client.pipeline();
  for (let i = 0; i < count; i++) pipeline.xadd(key, '*', ...FIELDS);
  pipeline.xgroup('CREATE', key, 'g', '0');
  await pipeline.exec();
}

async function allAcknowledged(client, key) {
  const [pending] = await client.xpending(key, 'g');
  if (pending !== 0) throw new Error(`${key}: ${pending} messages were not acknowledged`);
  await client.del(key);
}

function rawConsumer(url, client) {
  let serial = 0;
  return {
    name: 'raw',
    prepare: async (callers) => {
      const key = `raw:backlog:${serial++}`;
      await fill(client, key, backlogOf(callers));
      const reader = openRaw(url);
      await reader.ping();
      return { key, reader };
    },
    slice: async (callers, { key, reader }) => {
      const watch = stopwatch(backlogOf(callers));
      const acks = [];
      // As many at a time as ours holds: one for each caller, and as many that wait.
      const from = ['GROUP', 'g', 'c', 'COUNT', 2 * callers, 'BLOCK', 2000, 'STREAMS', key, '>'];
      while (!watch.complete()) {
        const reply = await reader.xreadgroup(...from);
        if (!reply) throw new Error('The backlog ended too early');
        const ids = [];
        for (const [id, fields] of reply[0][1]) {
          JSON.parse(fields[3]);
          watch.handled();
          ids.push(id);
        }
        acks.push(client.xack(key, 'g', ...ids));
      }
      const slice = watch.stop();
      await Promise.all(acks);
      return slice;
    },
    clear: async ({ key, reader }) => {
      reader.disconnect();
      await allAcknowledged(client, key);
    },
  };
}

function ourConsumer(url, client) {
  let serial = 0;
  return {
    name: 'ours',
    prepare: async (callers) => {
      const name = `backlog-${serial++}`;
      await fill(client, `bench:stream:${name}`, backlogOf(callers));
      return { name, app: await openApplication(url) };
    },
    slice: async (callers, { name, app }) => {
      const runtime = app.get(StreamRuntime);
      const watch = stopwatch(backlogOf(callers));
      runtime.consume({ stream: name, group: 'g', concurrency: callers }, async () => watch.handled());
      runtime.start();
      await watch.done;
      const slice = watch.stop();
      await runtime.drain();
      return slice;
    },
    clear: async ({ name, app }) => {
      await app.close();
      await allAcknowledged(client, `bench:stream:${name}`);
    },
  };
}
