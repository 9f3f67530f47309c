// Makes a thousand calls at once when told to, and says how they ended and what they left in memory.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Operation } from '../../../../libs/redis-patterns/src/connection/index.js';
import { openEngine } from '../../../support/engine.js';
import { programData } from '../../../support/parent.js';
import { answerParent } from '../../support/faults-answers.js';
import type { AppSetup } from '../../support/faults-app.js';
import { Lateness } from '../../support/faults-lateness.js';

const CALLS = 1000;
const EFFECTS: readonly Operation<unknown>['effect'][] = ['read', 'idempotent', 'token', 'once'];

const { connection, namespace, closeTimeout } = programData<AppSetup>();
const engine = await openEngine({ connection, namespace }, { pool: { maxInFlight: CALLS }, closeTimeout });
const { commandTimeout } = engine.connection;
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

async function call(n: number): Promise<{ end: string; begun: number; settled: number }> {
  const key = `${namespace}:thousand:${n}`;
  const begun = performance.now();
  const end = await engine.connection
    .run({
      name: 'chaos.set',
      key,
      effect: EFFECTS[n % EFFECTS.length]!,
      wait: n % 2 === 0,
      send: (client) => client.set(key, 'x'.repeat(100), 'PX', 60_000),
    })
    .then(
      () => 'ok',
      (error: { outcome?: string; message: string }) => error.outcome ?? error.message,
    );
  return { end, begun, settled: performance.now() };
}

/** The slowest of them, beyond the deadline and what this machine adds to it; how many ended in which way. */
async function calls() {
  const lateness = new Lateness();
  const results = await Promise.all(Array.from({ length: CALLS }, (_, n) => call(n)));
  await lateness.seen();
  lateness.stop();
  const ends: Record<string, number> = {};
  let overdue = 0;
  for (const { end, begun, settled } of results) {
    ends[end] = (ends[end] ?? 0) + 1;
    const due = begun + commandTimeout;
    if (settled > due) overdue = Math.max(overdue, settled - due - lateness.between(due, settled));
  }
  return { ends, overdue };
}

async function heap(): Promise<number> {
  for (let n = 0; n < 3; n++) {
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
  return process.memoryUsage().heapUsed;
}

await answerParent({
  calls,
  heap,
  stats: () => engine.connection.stats().pool,
  close: async () => {
    const began = performance.now();
    await engine.close();
    return performance.now() - began;
  },
});
