// A job queue rather than a stream: what many reach for to do the same work.
import { openRaw } from '../context.mjs';

const FORGET = { removeOnComplete: true };

/** @param {any} bullmq the module @param {string} url @returns {import('./arms.mjs').System} */
export function bullmqSystem({ Queue, Worker }, url) {
  const connection = openRaw(url, { maxRetriesPerRequest: null });
  const queues = new Map();
  const queueOf = (name) => {
    if (!queues.has(name)) queues.set(name, new Queue(name, { connection }));
    return queues.get(name);
  };
  const handled = new Map();
  return {
    name: 'bullmq',
    publish: (name, payload) => queueOf(name).add('job', payload, FORGET),
    fill: (name, payloads) => queueOf(name).addBulk(payloads.map((data) => ({ name: 'job', data, opts: FORGET }))),
    open: async (name) => {
      await queueOf(name).waitUntilReady();
      let worker;
      return {
        consume: async (callers, handle) => {
          const run = async ({ data }) => {
            await handle(data);
            handled.set(name, (handled.get(name) ?? 0) + 1);
          };
          worker = new Worker(name, run, { connection, concurrency: callers });
          worker.on('error', (error) => process.stderr.write(`[bench] bullmq: ${error.message}\n`));
          await worker.waitUntilReady();
          return () => worker.close();
        },
        close: async () => undefined,
      };
    },
    verify: async (name, count, consumed) => {
      const left = await queueOf(name).getJobCountByTypes('waiting', 'active', 'delayed', 'failed');
      if (left !== (consumed ? 0 : count)) throw new Error(`bullmq: of ${count} jobs ${left} are left`);
      if (consumed && handled.get(name) !== count)
        throw new Error(`bullmq: ${handled.get(name)} of ${count} jobs were done`);
      await queueOf(name).obliterate({ force: true });
      await queueOf(name).close();
      queues.delete(name);
      handled.delete(name);
    },
    close: async () => {
      await Promise.all([...queues.values()].map((queue) => queue.close()));
      connection.disconnect();
    },
  };
}
