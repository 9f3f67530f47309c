// Publishing, working off a backlog with handlers of several durations, both at once, and how long a message is on its way. Beside
// a raw loop with batched acknowledgements and BullMQ; every message is counted.
import { readFileSync } from 'node:fs';
import { commandCounter } from '../lib/commands.mjs';
import { openRaw, peer } from '../lib/context.mjs';
import { measureScenario, round } from '../lib/measure.mjs';
import { consumeArm, flowArm, idealArm, latencies, publishArm } from '../lib/stream/arms.mjs';
import { bullmqSystem } from '../lib/stream/bullmq.mjs';
import { oursSystem } from '../lib/stream/ours.mjs';
import { rawSystem } from '../lib/stream/raw.mjs';

const payload = JSON.parse(readFileSync(new URL('../payloads/payloads.json', import.meta.url), 'utf8'))['100B'];
/** Callers that publish, and handlers, at the same time. */
const FLOW = 50;
const RATE = 1000;

export async function stream(url) {
  const counting = openRaw(url);
  const count = commandCounter(counting);
  const modules = await peer('bullmq');
  const ours = await oursSystem(url);
  const ackEach = await oursSystem(url, { name: 'ours, await ack()', ackEach: true });
  const inOrder = await oursSystem(url, { name: "ours, ordering: 'key'", ordering: 'key' });
  const systems = [rawSystem(url), ours, ...(modules ? [bullmqSystem(modules[0], url)] : [])];
  const consumers = [systems[0], ours, ackEach, inOrder, ...systems.slice(2)];
  const scenarios = [
    { name: 'publish 100 B', arms: systems.map((system) => publishArm(system, payload)) },
    {
      name: 'consume 100 B',
      measure: (plan) => {
        const arms = consumers.map((system) => consumeArm(system, payload, 0));
        return measureScenario(
          'stream',
          { name: 'consume 100 B', arms },
          { ...plan, callers: [1, 16, 64, 100] },
          count,
        );
      },
    },
    ...[1, 5, 50].map((ms) => ({
      name: `consume, handlers of ${ms} ms`,
      measure: (plan) => consumeSlowly(consumers, ms, plan, count),
    })),
    {
      name: `publish and consume at once, ${FLOW} handlers`,
      measure: (plan) => {
        const arms = systems.map((system) => flowArm(system, payload, plan.quick ? 1000 : 20_000));
        return measureScenario('stream', { name: 'publish and consume', arms }, { ...plan, callers: [FLOW] }, count);
      },
    },
    {
      name: 'on its way',
      measure: ({ quick }) =>
        latencies(systems, { payload, rate: RATE, seconds: quick ? 1 : 3, rounds: quick ? 1 : 5, callers: 64 }),
    },
  ];
  const close = async () => {
    for (const system of [...systems, ackEach, inOrder]) await system.close();
    counting.disconnect();
  };
  return { scenarios, close };
}

/** Handlers that wait for something else, as most do: what matters is that none of them waits for us. */
async function consumeSlowly(consumers, ms, plan, count) {
  const arms = [idealArm(ms), ...consumers.map((system) => consumeArm(system, payload, ms))];
  const rounds = Math.ceil(plan.rounds / 2);
  const rows = await measureScenario(
    'stream',
    { name: `${ms} ms`, arms },
    { ...plan, rounds, callers: [1, 16, 100] },
    count,
  );
  const idealOf = (callers) => rows.find((row) => row.arm === 'ideal' && row.callers === callers)?.opsPerSecond ?? 1;
  return rows
    .filter(({ arm }) => arm !== 'ideal')
    .map(({ arm, callers, opsPerSecond, cpuMicrosPerOp, commandsPerOp }) => {
      const ofIdeal = round(opsPerSecond / idealOf(callers));
      return { arm, callers, opsPerSecond, ofIdeal, commandsPerOp, cpuMicrosPerOp };
    });
}
