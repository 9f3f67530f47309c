// For arms that handle a certain number of messages: they end with the last message, not with the time.
import { performance } from 'node:perf_hooks';

/** Counts, times and charges from `start()`, or the first message, to the last. @param {number} expected */
export function stopwatch(expected) {
  const latencies = /** @type {number[]} */ ([]);
  let cpu = process.cpuUsage();
  let began = 0;
  let finish = () => {};
  const done = new Promise((resolve) => (finish = () => resolve(undefined)));
  const start = () => {
    cpu = process.cpuUsage();
    began = performance.now();
  };
  return {
    done,
    start,
    handled: () => {
      if (began === 0) start();
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
