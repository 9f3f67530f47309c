// A candidate that writes with the fence of its term whatever only a leader may write, as long as it believes that it leads.
import { LeaderElectionService } from 'nestjs-redis-patterns';
import { sleep } from '../../../../libs/redis-patterns/src/core/index.js';
import { onParent, programData, tellParent } from '../../../support/parent.js';
import { RedisAdmin } from '../../../support/redis-admin.js';
import type { PlainConnection } from '../../../support/topologies.js';
import { openService } from '../open-service.js';

const { connection, namespace, admin } = programData<{
  connection: PlainConnection;
  namespace: string;
  admin: PlainConnection;
}>();
const { service, close } = await openService(LeaderElectionService, { connection, namespace });
// What is guarded is no lock: the user of the locks may not touch it.
const { client } = await RedisAdmin.connect(admin);

/** What a resource does that checks fences: it refuses a write that is older than the last. */
const GUARDED_WRITE = `
if tonumber(redis.call('GET', KEYS[2]) or '0') > tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[2], ARGV[1])
redis.call('RPUSH', KEYS[1], ARGV[1] .. ' ' .. ARGV[2])
return 1`;

const counts = { accepted: 0, refused: 0, terms: 0 };
let running = true;
const campaign = service.campaign('history', { lease: 1000 });
campaign.on('elected', (term) => {
  counts.terms++;
  void tellParent({ type: 'elected', fence: term.fence.toString() });
});
campaign.on('revoked', () => void tellParent({ type: 'revoked' }));

const writing = (async () => {
  while (running) {
    const { term } = campaign;
    if (term !== undefined) {
      const log = `${namespace}:{leaders}`;
      const written = await client.eval(GUARDED_WRITE, 2, log, `${log}:fence`, term.fence.toString(), process.pid);
      counts[written === 1 ? 'accepted' : 'refused']++;
    }
    await sleep(2);
  }
})();

onParent('stop', () => {
  void (async () => {
    running = false;
    await writing;
    await close();
    await tellParent({ type: 'stopped', ...counts });
  })();
});

await tellParent({ type: 'ready' });
