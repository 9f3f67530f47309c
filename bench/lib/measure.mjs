// Runs the arms of a scenario in turn, round after round, so that whatever else the machine does hits all of them alike.
import { performance } from 'node:perf_hooks';

const WARM_UP_LONE = 6;

/**
 * @typedef {{ name: string, run?: (i: number) => Promise<unknown>, slice?: (callers: number, ready: any) => Promise<Slice>,
 *   prepare?: (callers: number) => Promise<unknown>, clear?: (ready: any) => Promise<unknown>,
 *   setup?: () => Promise<void>, teardown?: () => Promise<void> }} Arm one way to do the work; `slice` measures by itself,
 *   between `prepare` and `clear`, which are not measured; `clear` and `teardown` throw when the work was not done
 * @typedef {{ ops: number, ms: number, latencies: number[], cpuMicros: number }} Slice
 * @typedef {{ callers: readonly number[], rounds: number, sliceMs: number, warmUpMs: number, quick: boolean }} Plan
 */

/**
 * @param {string} area
 * @param {{ name: string, arms: Arm[] }} scenario
 * @param {Plan} plan
 * @param {(arm: Arm, callers: number) => Promise<number>} countCommands
 */
export async function measureScenario(area, { name, arms }, plan, countCommands) {
  for (const arm of arms) await arm.setup?.();
  const rows = [];
  for (const callers of plan.callers) {
    // A lone caller makes few calls in that time, and none of them is compiled for speed yet.
    const warmUpMs = callers === plan.callers[0] ? WARM_UP_LONE * plan.warmUpMs : plan.warmUpMs;
    for (const arm of arms) await runSlice(arm, callers, warmUpMs);
    const slices = new Map(arms.map((arm) => [arm, /** @type {Slice[]} */ ([])]));
    for (let round = 0; round < plan.rounds; round++) {
      // Who begins changes, so that no arm always runs on the caches of the same neighbour.
      const order = [...arms.slice(round % arms.length), ...arms.slice(0, round % arms.length)];
      for (const arm of order) slices.get(arm)?.push(await runSlice(arm, callers, plan.sliceMs));
    }
    for (const arm of arms) {
      const commandsPerOp = await countCommands(arm, callers);
      rows.push({ area, scenario: name, arm: arm.name, callers, ...summarize(slices.get(arm) ?? []), commandsPerOp });
    }
  }
  for (const arm of arms) await arm.teardown?.();
  return withRatios(rows);
}

/**
 * @param {Arm} arm
 * @param {number} callers
 * @param {number} ms
 * @param {{ before?: () => Promise<unknown>, after?: () => Promise<unknown> }} [around] called next to the work itself
 * @returns {Promise<Slice>}
 */
export async function runSlice(arm, callers, ms, { before, after } = {}) {
  const ready = await arm.prepare?.(callers);
  await before?.();
  const slice = arm.slice ? await arm.slice(callers, ready) : await timedSlice(arm, callers, ms);
  await after?.();
  await arm.clear?.(ready);
  return slice;
}

/** @param {Arm} arm @param {number} callers @param {number} ms @returns {Promise<Slice>} */
async function timedSlice(arm, callers, ms) {
  const run = /** @type {(i: number) => Promise<unknown>} */ (arm.run);
  const latencies = /** @type {number[]} */ ([]);
  const cpu = process.cpuUsage();
  const began = performance.now();
  const end = began + ms;
  let next = 0;
  const caller = async () => {
    for (let at = performance.now(); at < end;) {
      await run(next++);
      const now = performance.now();
      latencies.push(now - at);
      at = now;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const used = process.cpuUsage(cpu);
  return { ops: latencies.length, ms: performance.now() - began, latencies, cpuMicros: used.user + used.system };
}

/** The median round, and the latencies of all rounds. @param {Slice[]} slices */
function summarize(slices) {
  const rates = slices.map(({ ops, ms }) => (ops * 1000) / ms).sort((a, b) => a - b);
  const latencies = slices.flatMap((slice) => slice.latencies).sort((a, b) => a - b);
  const ops = slices.reduce((sum, slice) => sum + slice.ops, 0);
  const cpu = slices.reduce((sum, slice) => sum + slice.cpuMicros, 0);
  return {
    opsPerSecond: Math.round(rates[Math.floor(rates.length / 2)] ?? 0),
    p50Ms: round(latencies[Math.floor(latencies.length * 0.5)] ?? 0),
    p99Ms: round(latencies[Math.floor(latencies.length * 0.99)] ?? 0),
    cpuMicrosPerOp: round(cpu / Math.max(1, ops)),
  };
}

/** @template {{ arm: string, callers: number, opsPerSecond: number, p50Ms: number, p99Ms: number, commandsPerOp: number, cpuMicrosPerOp: number, area: string, scenario: string }} Row @param {Row[]} rows */
function withRatios(rows) {
  return rows.map((row) => {
    const raw = rows.find(({ arm, callers }) => arm === 'raw' && callers === row.callers);
    const { area, scenario, arm, callers, opsPerSecond, p50Ms, p99Ms, commandsPerOp, cpuMicrosPerOp } = row;
    const ratioToRaw = round(opsPerSecond / (raw?.opsPerSecond || opsPerSecond));
    return { area, scenario, arm, callers, opsPerSecond, ratioToRaw, p50Ms, p99Ms, commandsPerOp, cpuMicrosPerOp };
  });
}

/** @param {number} value */
export function round(value) {
  return Math.round(value * 1000) / 1000;
}
