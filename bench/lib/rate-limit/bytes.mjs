// What a subject takes in Redis while it is counted: all of its keys, as MEMORY USAGE says.
import { setTimeout as sleep } from 'node:timers/promises';
import { allLimiters } from './limiters.mjs';
import { openLimits, policiesOf } from './ours.mjs';

const UNITS = 100;
const TERMS = { limit: UNITS, windowMs: 60_000 };
const SUBJECT = 'user:bytes-of-one-subject';
/** The sub-windows of a sliding window fill one after the other, so its window is a short one, and the calls are spread over it. */
const SLIDING_MS = 1000;
const STEPS = 25;
const STEP_MS = 50;

/** @param {string} url @param {import('ioredis').Redis} client */
export async function bytesOfSubject(url, client) {
  const { sliding, ...policies } = policiesOf(UNITS, TERMS.windowMs);
  const ours = await openLimits(url, 'bytes', {
    policies: {
      ...policies,
      sliding: { ...sliding, window: SLIDING_MS },
      blocked: policies.fixed,
      leases: { algorithm: 'concurrency', limit: UNITS, window: undefined, lease: TERMS.windowMs },
    },
  });
  const limiters = await allLimiters(ours, client, TERMS);
  const rows = [];
  for (const [index, { name }] of limiters.entries()) rows.push({ arm: name, units: UNITS, index });
  for (let step = 0; step < STEPS; step++) {
    const hits = limiters.flatMap(({ hit }, index) =>
      Array.from({ length: UNITS / STEPS }, () => hit(subjectOf(index))),
    );
    await Promise.all(hits);
    if (step < STEPS - 1) await sleep(STEP_MS);
  }
  await ours.service.block('blocked', subjectOf(limiters.length), '1m');
  const leases = await Promise.all(
    Array.from({ length: UNITS }, () => ours.service.acquire('leases', subjectOf(limiters.length + 1))),
  );
  rows.push({ arm: 'ours block', units: 0, index: limiters.length });
  rows.push({ arm: 'ours leases', units: leases.length, index: limiters.length + 1 });
  const measured = await Promise.all(
    rows.map(async ({ index, ...row }) => ({ ...row, ...(await bytesOf(client, subjectOf(index))) })),
  );
  await ours.close();
  return measured;
}

const subjectOf = (index) => `${SUBJECT}-${String.fromCharCode(97 + index)}`;

async function bytesOf(client, subject) {
  const keys = new Set();
  for await (const found of client.scanStream({ match: `*${subject}*`, count: 1000 }))
    for (const key of found) keys.add(key);
  const sizes = await Promise.all([...keys].map((key) => client.call('MEMORY', 'USAGE', key, 'SAMPLES', '0')));
  return { keys: keys.size, bytes: sizes.reduce((sum, size) => sum + Number(size), 0) };
}
