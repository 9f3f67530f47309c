// Counts what clients send to Redis for an operation. INFO commandstats counts commands inside of scripts too, and cannot
// tell them apart; MONITOR says which came from Lua, so those are taken off.
import { runSlice } from './measure.mjs';

const COUNTING_MS = 60;
const OWN = /^cmdstat_(info|config\|resetstat|monitor|ping|client\|.*|hello|cluster\|.*):/;

/** @param {import('ioredis').Redis} admin */
export function commandCounter(admin) {
  /** @param {import('./measure.mjs').Arm} arm @param {number} callers */
  return async (arm, callers) => {
    const monitor = await admin.monitor();
    let inside = 0;
    monitor.on('monitor', (_time, _args, source) => void (source === 'lua' && inside++));
    let all = 0;
    const before = async () => {
      await drained(admin, monitor);
      inside = 0;
      await admin.config('RESETSTAT');
    };
    const after = async () => {
      all = total(await admin.info('commandstats'));
      await drained(admin, monitor);
      monitor.disconnect();
    };
    const { ops } = await runSlice(arm, callers, COUNTING_MS, { before, after });
    return Math.round(((all - inside) / Math.max(1, ops)) * 100) / 100;
  };
}

/** MONITOR is behind: when it shows a command of ours, it has shown everything before. */
async function drained(admin, monitor) {
  const mark = `bench-${process.pid}-${Math.random()}`;
  const seen = new Promise((resolve) => {
    monitor.on('monitor', (_time, args) => void (args.includes(mark) && resolve(undefined)));
  });
  await admin.ping(mark);
  await seen;
}

/** @param {string} stats */
function total(stats) {
  return stats
    .split('\n')
    .filter((line) => line.startsWith('cmdstat_') && !OWN.test(line))
    .reduce((sum, line) => sum + Number(/calls=(\d+)/.exec(line)?.[1] ?? 0), 0);
}
