// Decisions beside the same script sent by hand and beside the peers, three limits over a slow line, refusals that are known, what a
// guard costs a request, what a subject takes in Redis, and what each limiter admits beside an exact log.
import { commandCounter } from '../lib/commands.mjs';
import { openRaw } from '../lib/context.mjs';
import { measureScenario } from '../lib/measure.mjs';
import { bytesOfSubject } from '../lib/rate-limit/bytes.mjs';
import { consumeArm, decisionCost, floorArms, limiterArm, rawArm } from '../lib/rate-limit/decisions.mjs';
import { grants } from '../lib/rate-limit/grants.mjs';
import { handlerCost } from '../lib/rate-limit/handlers.mjs';
import { threeLimits } from '../lib/rate-limit/latency.mjs';
import { openLimits, oursStorage, policiesOf } from '../lib/rate-limit/ours.mjs';
import { expressStore, flexible, installed, nestLab } from '../lib/rate-limit/peers.mjs';
import { refusedAgain } from '../lib/rate-limit/refused.mjs';

const TERMS = { limit: 10_000_000, windowMs: 60_000 };
/** The storage keeps a log, which grows with the hits. */
const LOG_TERMS = { limit: 10_000, windowMs: 1000 };
const lean = (plan) => (plan.quick ? { ...plan, callers: [1, 64] } : plan);
/** Arms differ by a few microseconds: many short slices in turn, so that other work on the machine hits all of them alike. */
const inShortSlices = (plan) => ({ ...lean(plan), rounds: plan.rounds * 4, sliceMs: plan.sliceMs / 4 });
const scriptsOf = (folder) =>
  import(new URL(`./${folder}/scripts.generated.js`, import.meta.resolve('nestjs-redis-patterns')).href);

export async function rateLimit(url) {
  const raw = openRaw(url);
  const { consumeScript } = await scriptsOf('rate-limit');
  const { hitScript } = await scriptsOf('throttler');
  const policies = policiesOf(TERMS.limit, TERMS.windowMs);
  policies.log.window = LOG_TERMS.windowMs;
  const { service, storage, close } = await openLimits(url, 'decisions', { policies });
  const decision = async (policy, more = []) => {
    const act = (subject) => service.consume(policy, subject);
    const byHand = await rawArm(raw, consumeScript, act, ([units]) => units === 1);
    return { name: [policy].flat().join(', '), arms: [byHand, consumeArm(service, policy), ...more] };
  };
  const peers = installed([await flexible(raw, TERMS), await expressStore(raw, TERMS)]);
  const byStorage = oursStorage(storage, LOG_TERMS);
  const count = commandCounter(raw);
  const fixed = await decision('fixed', [...floorArms(raw), ...peers.map(limiterArm)]);
  const decisions = [
    fixed,
    await decision('sliding'),
    await decision('log'),
    await decision('bucket'),
    await decision(['fixed', 'sliding', 'bucket']),
    {
      name: 'throttler storage',
      arms: [
        await rawArm(raw, hitScript, byStorage.hit, ([refused]) => refused === 0),
        ...installed([byStorage, await nestLab(raw, LOG_TERMS)]).map(limiterArm),
      ],
    },
  ];
  const scenarios = [
    ...decisions.map((scenario) => ({
      name: scenario.name,
      measure: (plan) => measureScenario('rate-limit', scenario, inShortSlices(plan), count),
    })),
    { name: 'decision cost', measure: ({ rounds }) => decisionCost(fixed.arms, rounds) },
    { name: 'three limits, 2 ms away', measure: (plan) => threeLimits(url, lean(plan), count) },
    { name: 'refused', measure: (plan) => refusedAgain(url, raw, plan, count) },
    { name: 'guard', measure: ({ rounds }) => handlerCost(url, raw, Math.ceil(rounds / 2), count) },
    { name: 'bytes of a subject', measure: () => bytesOfSubject(url, raw) },
    { name: 'grants', measure: ({ quick }) => grants(url, raw, quick) },
  ];
  return {
    scenarios,
    close: async () => {
      await close();
      raw.disconnect();
    },
  };
}
