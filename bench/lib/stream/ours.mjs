import { StreamProducer, StreamRuntime } from 'nestjs-redis-patterns';
import { openApplication, openRaw } from '../context.mjs';
import { fill, verifyStream } from './raw.mjs';

const keyOf = (name) => `bench:stream:${name}`;

/**
 * @param {string} url
 * @param {{ name?: string, ackEach?: boolean }} [options] `ackEach`: each handler waits until its message is acknowledged
 * @returns {Promise<import('./arms.mjs').System>}
 */
export async function oursSystem(url, { name: armName = 'ours', ackEach = false } = {}) {
  const client = openRaw(url);
  const app = await openApplication(url);
  const producer = app.get(StreamProducer);
  return {
    name: armName,
    publish: (name, payload) => producer.publish(name, payload),
    fill: (name, payloads) => fill(client, keyOf(name), payloads),
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
          const { ready } = runtime.consume({ stream: name, group: 'g', concurrency: callers }, run);
          runtime.start();
          await ready;
          return () => runtime.drain();
        },
        close: () => consumer.close(),
      };
    },
    verify: (name, count) => verifyStream(client, keyOf(name), count),
    close: async () => {
      await app.close();
      client.disconnect();
    },
  };
}
