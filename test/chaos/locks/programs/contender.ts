// A process that enters one critical section again and again. It writes with its fence to a resource that checks fences, also
// when it has been overtaken, and tells from when to when it believed that it held the lock.
import { LockTimeoutError, LockUnavailableError, type LockHandle } from 'nestjs-redis-patterns';
import { openLocks } from '../../../integration/lock/test-locks.js';
import { onParent, programData, tellParent } from '../../../support/parent.js';
import { RedisAdmin } from '../../../support/redis-admin.js';
import type { PlainConnection } from '../../../support/topologies.js';

const { connection, options, resource, lease } = programData<{
  connection: PlainConnection;
  options: object;
  resource: PlainConnection;
  lease: number;
}>();
const { locks } = await openLocks({ connection, namespace: 'chaos' }, { liveness: 500 }, options);
const { client } = await RedisAdmin.connect(resource);

/** What a resource does that checks fences. */
const GUARDED_WRITE = `
if tonumber(redis.call('GET', KEYS[1]) or '0') > tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('RPUSH', KEYS[2], ARGV[1])
return 1`;

/** All processes of one machine share that clock; milliseconds. */
const clock = (): number => Number(process.hrtime.bigint()) / 1e6;
const write = async (fence: bigint): Promise<boolean> =>
  (await client.eval(GUARDED_WRITE, 2, 'last', 'accepted', fence.toString())) === 1;

async function section(lock: LockHandle): Promise<void> {
  const from = clock();
  const first = await write(lock.fence);
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
  // What the holder knows at the moment that it goes on, maybe after a sleep that it did not notice.
  const to = Math.min(clock(), clock() + lock.deadline - performance.now());
  const second = await write(lock.fence);
  const hold = { owner: `${process.pid}`, from, to, fence: `${lock.fence}`, first, second };
  await client.rpush('holds', JSON.stringify(hold));
}

let stopped = false;
let failures = 0;
onParent('stop', () => void (stopped = true));
await tellParent({ type: 'ready' });
while (!stopped) {
  try {
    const lock = await locks.acquire('section', { lease, wait: '5s', autoExtend: true });
    await section(lock);
    await lock.release();
  } catch (error) {
    if (!(error instanceof LockUnavailableError || error instanceof LockTimeoutError)) throw error;
    failures++;
  }
}
await locks.close();
await tellParent({ type: 'stopped', failures, stats: locks.stats() });
process.exit();
