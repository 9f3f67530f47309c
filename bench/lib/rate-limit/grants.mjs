// What each limiter admits of the same calls, beside a log of all of them that is exact. Times are those of the server: what the
// limiter says, else when MONITOR saw its command.
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { round } from '../measure.mjs';
import { allLimiters } from './limiters.mjs';
import { openLimits, policiesOf } from './ours.mjs';

const TERMS = { limit: 50, windowMs: 1000 };
const SPAN = TERMS.windowMs * 1000;
/** MONITOR shows a script shortly before or after it reads the clock. */
const CLOCK_ERROR = 1000;
const SEEDS = [1, 2, 3];
const SEGMENT_MS = 250;
/** Calls a second, in limits: quiet times and bursts in turn. */
const RATES = [0.2, 0.5, 1, 2, 8];

/** @param {string} url @param {import('ioredis').Redis} client @param {boolean} quick */
export async function grants(url, client, quick) {
  // Each call is to be seen by Redis.
  const ours = await openLimits(url, 'grants', {
    policies: policiesOf(TERMS.limit, TERMS.windowMs),
    blockCache: false,
  });
  const limiters = await allLimiters(ours, client, TERMS);
  // Scripts are loaded with the first call, which is seen as two.
  for (const { hit } of limiters) await hit('first');
  const runs = limiters.flatMap((limiter, index) =>
    SEEDS.map((seed) => ({ ...limiter, seed, subject: `grant-${index}-${seed}-end`, calls: [], times: [] })),
  );
  await drive(client, runs, quick ? 2000 : 5000);
  await ours.close();
  return limiters.map(({ name }) =>
    summary(
      name,
      runs.filter((run) => run.name === name),
    ),
  );
}

async function drive(client, runs, lengthMs) {
  const monitor = await client.monitor();
  monitor.on('monitor', (time, args, source) => {
    if (source === 'lua') return;
    const run = runs.find(({ subject }) => args.some((arg) => arg.includes(subject)));
    run?.times.push(Number(time) * 1e6);
  });
  const arrivals = SEEDS.flatMap((seed) => arrivalsOf(seed, lengthMs).map((at) => ({ at, seed }))).sort(
    (a, b) => a.at - b.at,
  );
  const began = performance.now();
  for (const { at, seed } of arrivals) {
    const wait = began + at - performance.now();
    if (wait > 0) await sleep(wait);
    for (const run of runs) if (run.seed === seed) run.calls.push(run.hit(run.subject));
  }
  for (const run of runs) run.calls = await Promise.all(run.calls);
  const seen = () => runs.every(({ calls, times }) => times.length >= calls.length);
  for (const end = performance.now() + 5000; !seen(); await sleep(5)) {
    if (performance.now() > end) throw new Error('MONITOR did not show every call');
  }
  monitor.disconnect();
}

/** Random times between calls (Poisson), at a rate that changes. @param {number} seed @param {number} lengthMs */
function arrivalsOf(seed, lengthMs) {
  const random = randomOf(seed);
  const times = [];
  for (let from = 0; from < lengthMs; from += SEGMENT_MS) {
    const perMs = (RATES[Math.floor(random() * RATES.length)] * TERMS.limit) / 1000;
    for (let at = from; (at += -Math.log(1 - random()) / perMs) < from + SEGMENT_MS;) times.push(at);
  }
  return times;
}

/** The same numbers in each run. @param {number} seed */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function summary(name, runs) {
  let calls = 0;
  let admitted = 0;
  let byExactLog = 0;
  let mostInWindow = 0;
  for (const run of runs) {
    if (run.times.length !== run.calls.length) throw new Error(`${name}: more commands than calls`);
    const decisions = run.calls.map((call, i) => ({ at: call.at ?? run.times[i], admitted: call.admitted }));
    const granted = decisions.filter((decision) => decision.admitted).map(({ at }) => at);
    calls += decisions.length;
    admitted += granted.length;
    byExactLog += exactLog(decisions.map(({ at }) => at));
    mostInWindow = Math.max(mostInWindow, mostWithin(granted));
  }
  return {
    arm: name,
    limit: TERMS.limit,
    calls,
    admitted,
    byExactLog,
    toExactLog: round(admitted / byExactLog),
    mostInWindow,
    overGrant: round(Math.max(0, mostInWindow / TERMS.limit - 1)),
  };
}

/** How many of the calls at these times an exact log admits. @param {number[]} times */
function exactLog(times) {
  const log = [];
  let first = 0;
  for (const at of times) {
    while (first < log.length && log[first] <= at - SPAN) first++;
    if (log.length - first < TERMS.limit) log.push(at);
  }
  return log.length;
}

/** @param {number[]} times in their order */
function mostWithin(times) {
  let most = 0;
  let first = 0;
  times.forEach((at, i) => {
    while (times[first] <= at - SPAN + CLOCK_ERROR) first++;
    most = Math.max(most, i - first + 1);
  });
  return most;
}
