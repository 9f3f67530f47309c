// A process that consumes one stream for two groups, and writes every run down in another Redis, which no fault touches.
import { randomUUID } from 'node:crypto';
import { openStreams } from '../../../integration/stream/test-streams.js';
import { onParent, programData, tellParent } from '../../../support/parent.js';
import { RedisAdmin } from '../../../support/redis-admin.js';
import { clock, GROUPS, type Body, type Ended, type WorkerSetup } from '../records.js';

const { connection, options, namespace, stream, log, reader } = programData<WorkerSetup>();
const streams = await openStreams(connection, namespace, {}, options);
const { client } = await RedisAdmin.connect(log);
const write = (list: string, record: object): Promise<number> => client.rpush(list, JSON.stringify(record));

const consumptions = GROUPS.map((group) => {
  // One of them in order of keys: whatever happens, no key may stand still.
  const ordering = group === 'b' ? 'key' : 'none';
  return streams.runtime.consume({ stream, group, ordering, ...reader }, async (body, ctx) => {
    const { id, fails } = body as Body;
    const begun = { run: randomUUID(), pid: process.pid, group, id, attempt: ctx.attempt, from: clock() };
    await write('begun', begun);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
    const failed = fails.includes(group);
    const ended: Ended = { run: begun.run, to: clock(), aborted: ctx.signal.aborted, failed };
    await write('ended', ended);
    if (failed) throw new Error('it never succeeds');
  });
});
onParent('drain', () => void streams.runtime.drain('5s').then(() => process.exit()));
streams.runtime.start();
await Promise.all(consumptions.map(({ ready }) => ready));
await tellParent({ type: 'ready' });
