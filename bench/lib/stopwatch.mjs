// For arms that consume a backlog: they end with the last message, not with the time.
import { performance } from 'node:perf_hooks';

/** One caller at a time is slow: a shorter backlog keeps the run short. @param {number} callers */
export function backlogOf(callers) {
  return callers === 1 ? 1000 : 4000;
}

/** Counts, times and charges from the first read to the last message. @param {number} expected */
export function stopwatch(expected) {
  const latencies = /** @type {number[]} */ ([]);
  const cpu = process.cpuUsage();
  const began = performance.now();
  let finish = () => {};
  const done = new Promise((resolve) => (finish = () => resolve(undefined)));
  return {
    done,
    complete: () => latencies.length >= expected,
    handled: () => {
      latencies.push(performance.now() - began);
      if (latencies.length === expected) finish();
    },
    stop: () => {
      const used = process.cpuUsage(cpu);
      if (latencies.length !== expected) throw new Error(`${latencies.length} of ${expected} messages were handled`);
      return { ops: expected, ms: performance.now() - began, latencies, cpuMicros: used.user + used.system };
    },
  };
}
