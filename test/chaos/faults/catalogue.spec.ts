// The fault catalogue: each row is caused under load, seen in what calls answer, healed, and survived without a restart.
import { describeFaults } from '../support/faults-runner.js';
import { access } from './catalogue/access.js';
import { crash, crashWithLog, crashWithSnapshots } from './catalogue/crash.js';
import { refusal } from './catalogue/refusal.js';
import { silence } from './catalogue/silence.js';
import { unnoticed } from './catalogue/unnoticed.js';

describeFaults('faults', [...unnoticed, ...silence, ...refusal, ...access, ...crash]);

// Without users: Redis 7.0 loads a log as the default user, which then must have its rights.
describeFaults('faults of servers with a log on disk', crashWithLog, { persistence: 'aof', acl: false });

describeFaults('faults of servers with snapshots', crashWithSnapshots, {
  persistence: 'rdb',
  // Small chunks, because the server answers between two of them while it loads.
  config: { 'key-load-delay': 100, 'loading-process-events-interval-bytes': 1024 },
});
