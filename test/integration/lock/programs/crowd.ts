// A process in which hundreds of callers wait for one lock at the same time, with a signal of their own or without.
import { eventually } from '../../../support/eventually.js';
import { programData, tellParent } from '../../../support/parent.js';
import type { PlainConnection } from '../../../support/topologies.js';
import { openLocks } from '../test-locks.js';

const { locks } = await openLocks(programData<{ connection: PlainConnection; namespace: string }>());
await locks.acquire('crowd', { lease: '60s' });
const wait = 300;
const answers = await Promise.all(
  Array.from({ length: 400 }, (_, i) =>
    locks.tryAcquire('crowd', i % 2 === 0 ? { wait } : { wait, signal: new AbortController().signal }),
  ),
);
// Whoever gave up leaves the queue right afterwards.
await eventually(() => locks.stats().cleaning === 0);
await tellParent({ type: 'done', refused: answers.filter((answer) => answer === null).length, stats: locks.stats() });
