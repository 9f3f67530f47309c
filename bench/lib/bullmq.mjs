// A job queue rather than a stream: what many reach for to do the same work.
import { openRaw } from './context.mjs';
import { backlogOf, stopwatch } from './stopwatch.mjs';

const FORGET = { removeOnComplete: true };

/** @param {any} bullmq the module @param {string} url @param {unknown} payload */
export function bullmqArms({ Queue, Worker }, url, payload) {
  const open = () => openRaw(url, { maxRetriesPerRequest: null });
  let serial = 0;
  let queue;
  let client;
  const publish = {
    name: 'bullmq',
    setup: async () => {
      client = open();
      queue = new Queue('bench', { connection: client });
      await queue.waitUntilReady();
    },
    run: () => queue.add('job', payload, FORGET),
    teardown: async () => {
      await queue.close();
      client.disconnect();
    },
  };
  const consume = {
    name: 'bullmq',
    prepare: async (callers) => {
      const connection = open();
      const backlog = new Queue(`backlog-${serial++}`, { connection });
      const jobs = Array.from({ length: backlogOf(callers) }, () => ({ name: 'job', data: payload, opts: FORGET }));
      await backlog.addBulk(jobs);
      return { backlog, connection };
    },
    slice: async (callers, { backlog, connection }) => {
      const watch = stopwatch(backlogOf(callers));
      const worker = new Worker(backlog.name, async () => watch.handled(), { connection, concurrency: callers });
      worker.on('error', (error) => process.stderr.write(`[bench] bullmq: ${error.message}\n`));
      await watch.done;
      const slice = watch.stop();
      await worker.close();
      return slice;
    },
    clear: async ({ backlog, connection }) => {
      const left = await backlog.getJobCountByTypes('waiting', 'active', 'delayed', 'failed');
      if (left !== 0) throw new Error(`bullmq: ${left} jobs were not finished`);
      await backlog.close();
      connection.disconnect();
    },
  };
  return { publish, consume };
}
