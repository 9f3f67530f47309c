// A hit in memory takes about a microsecond, and asking the clock for each of them takes a good part of that. So they are timed in
// blocks; the latencies are the means of the blocks.
import { performance } from 'node:perf_hooks';

const BLOCK = 100;
const SLICE_MS = 150;

/** @param {(i: number) => Promise<unknown>} run @returns {(callers: number) => Promise<import('../measure.mjs').Slice>} */
export function blockSlice(run) {
  let next = 0;
  return async (callers) => {
    const latencies = /** @type {number[]} */ ([]);
    const cpu = process.cpuUsage();
    const began = performance.now();
    const end = began + SLICE_MS;
    const caller = async () => {
      for (let at = performance.now(); at < end;) {
        for (let i = 0; i < BLOCK; i++) await run(next++);
        const now = performance.now();
        latencies.push((now - at) / BLOCK);
        at = now;
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
    const used = process.cpuUsage(cpu);
    const ops = latencies.length * BLOCK;
    return { ops, ms: performance.now() - began, latencies, cpuMicros: used.user + used.system };
  };
}
