// A process that enters one critical section again and again, and writes with its fence what only a holder may write.
import { onParent, programData, tellParent } from '../../../support/parent.js';
import { RedisAdmin } from '../../../support/redis-admin.js';
import type { PlainConnection } from '../../../support/topologies.js';
import { openLocks } from '../test-locks.js';

const { connection, namespace, admin, sections } = programData<{
  connection: PlainConnection;
  namespace: string;
  admin: PlainConnection;
  sections: number;
}>();
const { locks } = await openLocks({ connection, namespace });
// The guarded things are no locks: the user of the locks may not touch them.
const { client } = await RedisAdmin.connect(admin);
const log = `${namespace}:{log}`;
const last = `${namespace}:{log}:fence`;

/** What a resource does that checks fences: it refuses a write that is older than the last. */
const GUARDED_WRITE = `
if tonumber(redis.call('GET', KEYS[2]) or '0') >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[2], ARGV[1])
redis.call('RPUSH', KEYS[1], ARGV[2])
return 1`;

onParent('work', () => {
  void (async () => {
    for (let n = 0; n < sections; n++) {
      await locks.using('section', { lease: 1000, wait: '60s' }, async (lock) => {
        const write = (step: string) =>
          client.eval(GUARDED_WRITE, 2, log, last, lock.fence.toString(), `${step} ${process.pid} ${n}`);
        await client.rpush(`${log}:entered`, `${process.pid}`);
        if ((await client.incr(`${log}:inside`)) !== 1) throw new Error('two processes were inside at once');
        if ((await write('write')) !== 1) throw new Error('an older fence was accepted by the lock');
        await client.decr(`${log}:inside`);
      });
    }
    await tellParent({ type: 'done' });
  })();
});

/** Takes the lock and never gives it back. */
onParent('hold', () => {
  void locks.using('section', { lease: 1000 }, () => {
    void tellParent({ type: 'holding' });
    return new Promise(() => {});
  });
});

/** Orders the last item: reads the stock, takes its time, writes it back; safe only under the lock. */
onParent('buy', () => {
  void locks
    .using('stock', { wait: '10s' }, async () => {
      const stock = Number(await client.get(`${namespace}:stock`));
      if (stock < 1) return false;
      await client.ping();
      await client.set(`${namespace}:stock`, stock - 1);
      return true;
    })
    .then((bought) => tellParent({ type: 'bought', bought }));
});

await tellParent({ type: 'ready' });
