// What a call costs beyond raw, in CPU. Whole runs of two arms differ by more than that on a machine with other work, so
// short slices alternate: raw, arm, arm, raw. What drifts hits both alike; the median forgets the slices that were disturbed.
// They are long enough to average how many replies one read of the socket brings: that alone moves a call's CPU by half.
import { round } from './measure.mjs';

/** One caller at a time is slow. */
const CALLS = { 1: 512 };
const DEFAULT_CALLS = 2500;
/** Until all that a call runs through is compiled for speed. */
const WARM_UP_CALLS = 20_000;

/**
 * @typedef {{ name: string, run: () => Promise<unknown> }} Arm
 * @param {Arm} raw
 * @param {Arm[]} arms measured against `raw`; one of them may be `raw` once more, to show what the method itself errs
 * @param {number} callers
 * @param {number} repeats
 */
export async function gateCost(raw, arms, callers, repeats) {
  const calls = CALLS[callers] ?? DEFAULT_CALLS;
  for (const arm of [raw, ...arms]) {
    await cpuOfSlice(arm, callers, WARM_UP_CALLS);
  }
  const base = /** @type {number[]} */ ([]);
  const differences = new Map(arms.map((arm) => [arm, /** @type {number[]} */ ([])]));
  for (let i = 0; i < repeats; i++) {
    for (const arm of arms) {
      const before = await cpuOfSlice(raw, callers, calls);
      const once = await cpuOfSlice(arm, callers, calls);
      const twice = await cpuOfSlice(arm, callers, calls);
      const after = await cpuOfSlice(raw, callers, calls);
      base.push(before, after);
      differences.get(arm)?.push((once + twice - before - after) / 2);
    }
  }
  const rawCpuMicros = round(quantile(base, 0.5));
  return arms.map((arm) => {
    const values = differences.get(arm) ?? [];
    const [p25, costMicros, p75] = [0.25, 0.5, 0.75].map((at) => round(quantile(values, at)));
    return { arm: arm.name, callers, rawCpuMicros, costMicros, p25, p75, repeats };
  });
}

/** @param {Arm} arm @param {number} callers @param {number} calls @returns {Promise<number>} µs a call */
async function cpuOfSlice({ run }, callers, calls) {
  let left = calls;
  const caller = async () => {
    while (left-- > 0) await run();
  };
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: callers }, caller));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

/** @param {readonly number[]} values @param {number} at 0 to 1 */
export function quantile(values, at) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? 0;
}
