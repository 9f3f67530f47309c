// A call that is admitted, beside the same script of the library's build sent by hand, and beside the least that Redis can be asked.
import { createHash } from 'node:crypto';
import { gateCost } from '../gate-cost.mjs';

const SUBJECTS = 1000;
const MARK = 'subject:0';
const TTL = 60_000;
const RETURN_1 = 'return 1';

/** @param {(i: number) => string} make */
const subjects = (make) => Array.from({ length: SUBJECTS }, (_, i) => make(i));

/** @param {import('./peers.mjs').Limiter} limiter @param {string} [name] */
export function limiterArm({ name, hit }) {
  const names = subjects((i) => `subject:${i}`);
  return {
    name,
    run: async (i) => {
      if (!(await hit(names[i % SUBJECTS])).admitted) throw new Error(`${name}: a call below the limit was refused`);
    },
  };
}

/** @param {any} service @param {string | string[]} policy */
export function consumeArm(service, policy, name = 'ours') {
  const names = subjects((i) => `subject:${i}`);
  return {
    name,
    run: async (i) => {
      const { allowed, source } = await service.consume(policy, names[i % SUBJECTS]);
      if (!allowed || source !== 'redis') throw new Error(`${policy}: allowed ${allowed} by ${source}`);
    },
  };
}

/**
 * The EVALSHA that `act` sends for `subject:0`, as MONITOR shows it, sent by hand.
 *
 * @param {import('ioredis').Redis} client
 * @param {{ sha: string, lua: string }} script
 * @param {(subject: string) => Promise<unknown>} act
 * @param {(reply: any) => boolean} isAdmitted
 */
export async function rawArm(client, script, act, isAdmitted) {
  await client.script('LOAD', script.lua);
  const { keys, args } = await recordedCall(client, script.sha, () => act(MARK));
  // Made once: to build the keys is the library's work.
  const calls = subjects((i) => [keys.length, ...keys.map((key) => key.replace(MARK, `raw:${i}`)), ...args]);
  return {
    name: 'raw',
    run: async (i) => {
      if (!isAdmitted(await client.evalsha(script.sha, ...calls[i % SUBJECTS])))
        throw new Error('raw: a call below the limit was refused');
    },
  };
}

async function recordedCall(client, sha, act) {
  const monitor = await client.monitor();
  const seen = new Promise((resolve) => {
    monitor.on('monitor', (_time, args) => void (/^evalsha$/i.test(args[0]) && args[1] === sha && resolve(args)));
  });
  await act();
  const [, , count, ...rest] = await seen;
  monitor.disconnect();
  const keys = rest.slice(0, Number(count));
  if (!keys.every((key) => key.includes(MARK))) throw new Error(`Not the expected call: ${keys.join(' ')}`);
  return { keys, args: rest.slice(Number(count)) };
}

/** What any limiter pays at the least: a counter, and a script that does nothing. @param {import('ioredis').Redis} client */
export function floorArms(client) {
  const names = subjects((i) => `bench:floor:${i}`);
  const sha = createHash('sha1').update(RETURN_1).digest('hex');
  return [
    {
      name: 'INCR',
      setup: async () => void (await Promise.all(names.map((name) => client.set(name, 0, 'PX', 10 * TTL)))),
      run: (i) => client.incr(names[i % SUBJECTS]),
    },
    {
      name: 'EVALSHA return 1',
      setup: () => client.script('LOAD', RETURN_1),
      run: (i) => client.evalsha(sha, 1, names[i % SUBJECTS]),
    },
  ];
}

/** CPU beyond raw. @param {{ name: string, run: (i: number) => Promise<unknown> }[]} arms raw, then ours @param {number} repeats */
export async function decisionCost([raw, ours], repeats) {
  const started = ({ name, run }) => {
    let i = 0;
    return { name, run: () => run(i++) };
  };
  const base = started(raw);
  const rows = [];
  for (const callers of [1, 16, 64])
    rows.push(...(await gateCost(base, [{ ...base, name: 'raw against itself' }, started(ours)], callers, repeats)));
  return rows;
}
