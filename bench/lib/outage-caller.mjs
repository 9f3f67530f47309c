// The process of one client in an outage: calls while the server is away, then until it is back.
import { setTimeout as sleep } from 'node:timers/promises';
import { openClients } from './clients.mjs';
import { quantile } from './gate-cost.mjs';
import { round } from './measure.mjs';
import { now } from './outage.mjs';

const { client: name, url, callers, callMs, boundMs, healMs } = JSON.parse(process.argv[2] ?? '{}');
/** Between the calls of a caller: without it those that are refused at once would be a busy loop, the others would not. */
const PAUSE_MS = 20;
/** When a breaker has had its time to open. */
const OPENED_MS = 1000;
const WARM_UP_CALLS = 500;
const KEY = 'bench:outage';

const { clients } = await openClients(url, [name], ['error']);
const [{ get }] = clients;
for (let i = 0; i < WARM_UP_CALLS; i++) await get(KEY);
send('ready');
await told('begin');
send('outage', await during());
await told('heal');
send('back', { at: await firstSuccess() });

/** @returns {Promise<object>} */
async function during() {
  const began = performance.now();
  const calls = /** @type {{ since: number, ms: number, how: string }[]} */ ([]);
  const cpu = process.cpuUsage();
  const caller = async () => {
    for (let since = 0; since < callMs; since = performance.now() - began) {
      const how = await bounded(get(KEY));
      calls.push({ since, ms: performance.now() - began - since, how });
      if (how === 'hangs') return;
      await sleep(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const { user, system } = process.cpuUsage(cpu);
  const succeeded = calls.filter(({ how }) => how === 'succeeded').length;
  if (succeeded > 0) throw new Error(`${name}: ${succeeded} calls succeeded without a server`);
  const settled = calls.filter(({ how }) => how === 'failed');
  const all = settled.map(({ ms }) => ms);
  const later = settled.filter(({ since }) => since >= OPENED_MS).map(({ ms }) => ms);
  return {
    calls: calls.length,
    hangs: calls.length - settled.length,
    p50Ms: at(all, 0.5),
    p99Ms: at(all, 0.99),
    maxMs: at(all, 1),
    p50After1sMs: at(later, 0.5),
    p99After1sMs: at(later, 0.99),
    cpuMicrosPerCall: Math.round((user + system) / calls.length),
  };
}

/** @param {Promise<unknown>} call */
async function bounded(call) {
  let timer;
  const bound = new Promise((resolve) => (timer = setTimeout(resolve, boundMs, 'hangs')));
  const how = await Promise.race([
    call.then(
      () => 'succeeded',
      () => 'failed',
    ),
    bound,
  ]);
  clearTimeout(timer);
  return how;
}

/** A new call every few milliseconds, whatever became of those before. @returns {Promise<number | null>} */
async function firstSuccess() {
  let first = /** @type {number | null} */ (null);
  const end = performance.now() + healMs;
  while (first === null && performance.now() < end) {
    get(KEY).then(
      () => (first ??= now()),
      () => undefined,
    );
    await sleep(PAUSE_MS / 2);
  }
  return first;
}

/** @param {number[]} values @param {number} share */
function at(values, share) {
  return values.length === 0 ? null : round(quantile(values, share));
}

function send(type, value) {
  process.send?.({ type, value });
}

/** @param {string} type */
function told(type) {
  return new Promise((resolve) => {
    const listener = (message) => {
      if (message.type !== type) return;
      process.off('message', listener);
      resolve(undefined);
    };
    process.on('message', listener);
  });
}
