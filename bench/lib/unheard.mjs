// Whether a call costs more because it could be listened to. All arms take turns, round after round, and what an arm loses to the
// one it stands beside is held against what the rounds of `raw` differ from each other: less than that is not seen.
import { Telemetry, traceMethods } from '../../libs/redis-patterns/dist/telemetry/index.js';
import { runSlice } from './measure.mjs';

const ROUNDS = { full: 15, quick: 3 };
/** Looks whether somebody listens, for the time of one. */
const LOOKS = 5_000_000;
/** The same for what they leave behind: so few that nothing is collected meanwhile. */
const KEPT = 100_000;

/**
 * @typedef {import('./measure.mjs').Arm & { beside?: string }} BesideArm `beside`: the arm it is compared with
 * @param {BesideArm[]} arms `raw` is among them
 * @param {import('./measure.mjs').Plan} plan
 */
export async function unheard(arms, { quick, sliceMs, warmUpMs }) {
  const rounds = quick ? ROUNDS.quick : ROUNDS.full;
  const rows = [];
  for (const arm of arms) await arm.setup?.();
  for (const callers of [1, 64]) {
    for (const arm of arms) await runSlice(arm, callers, warmUpMs);
    const rates = new Map(arms.map(({ name }) => [name, /** @type {number[]} */ ([])]));
    for (let round = 0; round < rounds; round++) {
      const first = round % arms.length;
      for (const arm of [...arms.slice(first), ...arms.slice(0, first)]) {
        const { ops, ms } = await runSlice(arm, callers, sliceMs);
        rates.get(arm.name)?.push((ops * 1000) / ms);
      }
    }
    for (const arm of arms) rows.push(rowOf(arm, callers, rates));
  }
  for (const arm of arms) await arm.teardown?.();
  return rows;
}

/** @param {BesideArm} arm @param {number} callers @param {Map<string, number[]>} rates */
function rowOf({ name, beside = '' }, callers, rates) {
  const own = rates.get(name) ?? [];
  const raw = rates.get('raw') ?? [];
  const base = rates.get(beside);
  const spread = ((Math.max(...raw) - Math.min(...raw)) / median(raw)) * 100;
  const loss = base === undefined ? 0 : (1 - median(own) / median(base)) * 100;
  return {
    arm: name,
    callers,
    rounds: own.length,
    opsPerSecond: Math.round(median(own)),
    least: Math.round(Math.min(...own)),
    most: Math.round(Math.max(...own)),
    rawSpreadPercent: tenth(spread),
    beside,
    lossPercent: base === undefined ? null : tenth(loss),
    inside: base === undefined ? '' : loss <= spread ? 'yes' : 'NO',
  };
}

/** `raw`, and the same behind what each operation of the library looks at first: by hand, and by `traceMethods`. */
export function guarded(run) {
  const tracer = new Telemetry('bench').tracer('cache', 'bench');
  const traced = new Traced(tracer, run);
  return [
    { name: 'raw', run },
    {
      name: 'raw, guarded',
      beside: 'raw',
      run: (i) => (tracer.active ? tracer.run({ operation: 'get', name: 'bench' }, () => run(i)) : run(i)),
    },
    { name: 'raw, traced method', beside: 'raw', run: (i) => traced.call(i) },
  ];
}

class Traced {
  constructor(tracer, run) {
    this.tracer = tracer;
    this.run = run;
  }

  call(i) {
    return this.run(i);
  }
}
traceMethods(Traced, ['call']);

/** Nanoseconds for one look with nobody there, and bytes that it leaves behind. */
export function lookCost() {
  const tracer = new Telemetry('bench').tracer('cache', 'bench');
  const traced = new Traced(tracer, () => 1);
  const plain = { run: () => 1 };
  const rows = [];
  for (const [look, body] of [
    ['nothing', () => plain.run()],
    ['tracer.active', () => (tracer.active ? 0 : plain.run())],
    ['traced method', () => traced.call(1)],
  ]) {
    const times = [];
    const bytes = [];
    for (let repeat = 0; repeat < 5; repeat++) {
      const began = performance.now();
      for (let i = 0; i < LOOKS; i++) body();
      times.push(((performance.now() - began) * 1e6) / LOOKS);
      const before = process.memoryUsage().heapUsed;
      for (let i = 0; i < KEPT; i++) body();
      const grown = process.memoryUsage().heapUsed - before;
      if (grown >= 0) bytes.push(grown / KEPT);
    }
    rows.push({ look, nanoseconds: tenth(Math.min(...times)), bytesPerLook: tenth(Math.min(...bytes)) });
  }
  return rows;
}

/** @param {readonly number[]} values */
function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** @param {number} value */
function tenth(value) {
  return Math.round(value * 10) / 10;
}
