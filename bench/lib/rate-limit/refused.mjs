// A client that is above its limit and comes back all the same: what this process knows answers it.
import { blockSlice } from '../cache/slices.mjs';
import { measureScenario } from '../measure.mjs';
import { openLimits } from './ours.mjs';
import { flexible, installed } from './peers.mjs';
import { timesArm } from './times.mjs';

const SUBJECTS = 1000;
const PEER = 'rate-limiter-flexible';
const TERMS = { limit: 1, windowMs: 600_000 };
const names = Array.from({ length: SUBJECTS }, (_, i) => `refused:${i}`);

/** @param {string} url @param {import('ioredis').Redis} client @param {import('../measure.mjs').Plan} plan @param {any} countCommands */
export async function refusedAgain(url, client, plan, countCommands) {
  const policies = { once: { algorithm: 'fixed-window', limit: TERMS.limit, window: TERMS.windowMs } };
  // As long as a refusal holds, as in the peer; a shorter time only asks Redis now and then.
  const cached = await openLimits(url, 'refused', { policies, blockCache: { maxAge: '1m' } });
  const asking = await openLimits(url, 'refused-asking', { policies, blockCache: false });
  const memory = await flexible(client, TERMS, { inMemoryBlockOnConsumed: TERMS.limit + 1 });
  const arms = installed([
    refusals('ours', (subject) => cached.service.consume('once', subject), 'cache'),
    memory && peerRefusals(memory),
    refusals('ours without cache', (subject) => asking.service.consume('once', subject), 'redis'),
  ]);
  const rows = await measureScenario('rate-limit', { name: 'refused', arms }, { ...plan, callers: [1] }, countCommands);
  await Promise.all([cached.close(), asking.close()]);
  return timesArm(rows, PEER, 'timesPeer');
}

/** Above the limit, and known to be. */
async function exhaust(hit) {
  for (let i = 0; i <= TERMS.limit + 1; i++) await Promise.all(names.map(hit));
}

function refusals(name, consume, expected) {
  return {
    name,
    setup: () => exhaust(consume),
    slice: blockSlice(async (i) => {
      const { allowed, source } = await consume(names[i % SUBJECTS]);
      if (allowed || source !== expected) throw new Error(`${name}: allowed ${allowed} by ${source}`);
    }),
  };
}

/** @param {import('./peers.mjs').Limiter} limiter */
function peerRefusals({ name, hit }) {
  return {
    name,
    setup: () => exhaust(hit),
    slice: blockSlice(async (i) => {
      if ((await hit(names[i % SUBJECTS])).admitted) throw new Error(`${name}: admitted above the limit`);
    }),
  };
}
