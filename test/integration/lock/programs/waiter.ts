// A process that waits for one lock again and again, and tells each time that it has it.
import { onParent, programData, tellParent } from '../../../support/parent.js';
import type { PlainConnection } from '../../../support/topologies.js';
import { openLocks } from '../test-locks.js';

const { liveness, ...setup } = programData<{ connection: PlainConnection; namespace: string; liveness: number }>();
const { locks } = await openLocks(setup, { liveness });

onParent('wait', () => {
  void locks.using('key', { lease: '60s', wait: '60s' }, (lock) =>
    tellParent({ type: 'got', fence: lock.fence.toString() }),
  );
});

await tellParent({ type: 'ready' });
