import { StreamProducer, StreamRuntime } from 'nestjs-redis-patterns';
import { openApplication, openRaw } from '../context.mjs';
import { fill, verifyStream } from './raw.mjs';

const keyOf = (name) => `bench:stream:${name}`;

/** Different keys of a backlog that is worked off in their order: more than there are handlers, so that few wait for each other. */
const KEYS = 1000;

/**
 * @param {string} url
 * @param {{ name?: string, ackEach?: boolean, ordering?: 'none' | 'key' }} [options] `ackEach`: each handler waits until its message
 *   is acknowledged
 * @returns {Promise<import('./arms.mjs').System>}
 */
export async function oursSystem(url, { name: armName = 'ours', ackEach = false, ordering = 'none' } = {}) {
  const client = openRaw(url);
  const app = await openApplication(url);
  const producer = app.get(StreamProducer);
  return {
    name: armName,
    publish: (name, payload) => producer.publish(name, payload),
    fill: (name, payloads) => fill(client, keyOf(name), payloads, ordering === 'key' ? KEYS : 0),
    open: async (name) => {
      // A runtime is drained once: each run has an application of its own, as a process would.
      const consumer = await openApplication(url);
      const runtime = consumer.get(StreamRuntime);
      return {
        consume: async (callers, handle) => {
          const run = ackEach
            ? async (body, ctx) => {
                await handle(body);
                await ctx.ack();
              }
            : async (body) => handle(body);
          const { ready } = runtime.consume({ stream: name, group: 'g', concurrency: callers, ordering }, run);
          runtime.start();
          await ready;
          return () => runtime.drain();
        },
        close: () => consumer.close(),
      };
    },
    verify: async (name, count) => {
      // With an order it is here that messages wait and are acknowledged.
      const left = await client.xlen(`bench:stream~retry:{${keyOf(name)}}:g`);
      if (left > 0) throw new Error(`${name}: ${left} messages are not done`);
      await verifyStream(client, keyOf(name), count);
    },
    close: async () => {
      await app.close();
      client.disconnect();
    },
  };
}
