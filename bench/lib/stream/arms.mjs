// The same work for each way to do it: every message that was published must have been handled once and be done in the end.
import { performance } from 'node:perf_hooks';
import { round } from '../measure.mjs';
import { stopwatch } from '../stopwatch.mjs';

/**
 * @typedef {(payload: any) => undefined | Promise<unknown>} Handle
 * @typedef {{ consume: (callers: number, handle: Handle) => Promise<() => Promise<unknown>>, close: () => Promise<unknown> }} Opened
 * @typedef {object} System
 * @property {string} name
 * @property {(name: string, payload: unknown) => Promise<unknown>} publish
 * @property {(name: string, payloads: readonly unknown[]) => Promise<unknown>} fill a backlog at once
 * @property {(name: string) => Promise<Opened>} open what consumes
 * @property {(name: string, count: number, consumed: boolean) => Promise<unknown>} verify throws unless all of them arrived and,
 *   if `consumed`, are done; then it removes them
 * @property {() => Promise<unknown>} close
 */

let serial = 0;
const nameFor = (what) => `${what}-${process.pid}-${serial++}`;

/** Callers that publish. @param {System} system @param {unknown} payload */
export function publishArm(system, payload) {
  const name = nameFor('publish');
  let added = 0;
  return {
    name: system.name,
    run: async () => {
      await system.publish(name, payload);
      added++;
    },
    teardown: () => system.verify(name, added, false),
  };
}

/** Long enough to measure, short enough to wait for. @param {number} callers @param {number} handlerMs */
function backlogOf(callers, handlerMs) {
  if (handlerMs === 0) return callers === 1 ? 1000 : 4000;
  return Math.max(2 * callers, Math.min(4000, Math.round((callers * 400) / handlerMs)));
}

/** A backlog that a group has to work off. @param {System} system @param {unknown} payload @param {number} handlerMs */
export function consumeArm(system, payload, handlerMs) {
  const work = handlerOf(handlerMs);
  return {
    name: system.name,
    prepare: async (callers) => {
      const name = nameFor('backlog');
      const count = backlogOf(callers, handlerMs);
      await system.fill(
        name,
        Array.from({ length: count }, () => payload),
      );
      return { name, count, opened: await system.open(name) };
    },
    slice: async (callers, { count, opened }) => {
      const watch = stopwatch(count);
      const stop = await opened.consume(callers, () => work(watch.handled));
      await watch.done;
      const slice = watch.stop();
      await stop();
      return slice;
    },
    clear: async ({ name, count, opened }) => {
      await opened.close();
      await system.verify(name, count, true);
    },
  };
}

/** What handlers of that duration could do at best: the same timers, and no Redis. @param {number} handlerMs */
export function idealArm(handlerMs) {
  const work = handlerOf(handlerMs);
  return {
    name: 'ideal',
    slice: async (callers) => {
      const count = backlogOf(callers, handlerMs);
      const watch = stopwatch(count);
      let begun = 0;
      const caller = async () => {
        while (begun++ < count) await work(watch.handled);
      };
      await Promise.all(Array.from({ length: callers }, caller));
      return watch.stop();
    },
  };
}

/** As many callers that publish as handlers that take it, at the same time. @param {System} system @param {unknown} payload @param {number} count */
export function flowArm(system, payload, count) {
  return {
    name: system.name,
    prepare: async (callers) => {
      const name = nameFor('flow');
      const opened = await system.open(name);
      const watch = stopwatch(count);
      const stop = await opened.consume(callers, () => void watch.handled());
      return { name, opened, watch, stop };
    },
    slice: async (callers, { name, watch, stop }) => {
      watch.start();
      let begun = 0;
      const caller = async () => {
        while (begun++ < count) await system.publish(name, payload);
      };
      await Promise.all(Array.from({ length: callers }, caller));
      await watch.done;
      const slice = watch.stop();
      await stop();
      return slice;
    },
    clear: async ({ name, opened }) => {
      await opened.close();
      await system.verify(name, count, true);
    },
  };
}

/**
 * From the time at which a message was to be published to the beginning of its handler, at a steady rate that waits for nobody:
 * whoever falls behind pays for all that come after it.
 *
 * @param {readonly System[]} systems
 * @param {{ payload: object, rate: number, seconds: number, rounds: number, callers: number }} load
 */
export async function latencies(systems, { payload, rate, seconds, rounds, callers }) {
  const found = new Map(systems.map((system) => [system, /** @type {number[][]} */ ([])]));
  for (let n = 0; n < rounds; n++) {
    const order = [...systems.slice(n % systems.length), ...systems.slice(0, n % systems.length)];
    for (const system of order) found.get(system)?.push(await latency(system, payload, rate, rate * seconds, callers));
  }
  return systems.map((system) => {
    const runs = found.get(system) ?? [];
    const median = (quantile) =>
      round(runs.map((run) => at(run, quantile)).sort((a, b) => a - b)[Math.floor(runs.length / 2)] ?? 0);
    return {
      arm: system.name,
      perSecond: rate,
      messages: rounds * rate * seconds,
      p50Ms: median(0.5),
      p99Ms: median(0.99),
    };
  });
}

async function latency(system, payload, rate, count, callers) {
  const name = nameFor('latency');
  const opened = await system.open(name);
  const waits = [];
  let finish = () => {};
  const complete = new Promise((resolve) => (finish = () => resolve(undefined)));
  const stop = await opened.consume(callers, ({ due }) => {
    waits.push(performance.now() - began - due);
    if (waits.length === count) finish();
  });
  let began = 0;
  began = performance.now();
  const sent = [];
  while (sent.length < count) {
    const due = Math.min(count, Math.floor(((performance.now() - began) * rate) / 1000) + 1);
    while (sent.length < due) sent.push(system.publish(name, { ...payload, due: (sent.length * 1000) / rate }));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(sent);
  await complete;
  await stop();
  await opened.close();
  await system.verify(name, count, true);
  return waits.sort((a, b) => a - b);
}

const at = (sorted, quantile) => sorted[Math.floor(sorted.length * quantile)] ?? 0;

/** @param {number} ms @returns {(handled: () => void) => undefined | Promise<unknown>} */
function handlerOf(ms) {
  if (ms === 0) return (handled) => void handled();
  return (handled) =>
    new Promise((resolve) => {
      setTimeout(() => {
        handled();
        resolve(undefined);
      }, ms);
    });
}
