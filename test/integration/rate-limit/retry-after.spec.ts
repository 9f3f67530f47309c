import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { setTimeout as sleep } from 'node:timers/promises';
import { definePolicy, type Policy, type RateLimitService } from '../../../libs/redis-patterns/src/rate-limit/index.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openLimits, wait, type TestLimits } from './test-limits.js';

const SEED = 20_261_130;
const CASES = 120;

interface Case {
  readonly policy: Policy;
  readonly calls: readonly { readonly cost: number; readonly pause: number }[];
}

const windowed = fc.record({ limit: fc.integer({ min: 1, max: 9 }), window: fc.integer({ min: 20, max: 120 }) });
const policies: fc.Arbitrary<Policy> = fc.oneof(
  windowed.map((policy) => ({ ...policy, algorithm: 'sliding-log' as const })),
  fc
    .tuple(windowed, fc.integer({ min: 2, max: 20 }))
    .map(([policy, buckets]) => ({ ...policy, buckets, algorithm: 'sliding-window' as const })),
  fc
    .tuple(windowed, fc.constantFrom('first' as const, 'clock' as const))
    .map(([policy, align]) => ({ ...policy, align, algorithm: 'fixed-window' as const })),
  fc.tuple(windowed, fc.integer({ min: 1, max: 3 })).map(([policy, times]) => ({
    ...policy,
    burst: Math.ceil((policy.limit * times) / 2),
    cost: 0,
    algorithm: 'token-bucket' as const,
  })),
);
const blocks = fc.option(
  fc.record({ for: fc.integer({ min: 1, max: 120 }), escalate: fc.constantFrom(1, 1.5, 2), max: fc.constant(150) }),
  {
    nil: undefined,
  },
);
const cases: fc.Arbitrary<Case> = fc
  .tuple(policies, blocks)
  .map(([policy, block]): Policy => (block === undefined ? policy : ({ ...policy, block } as Policy)))
  .chain((policy) => {
    const most = policy.algorithm === 'token-bucket' ? policy.burst! : policy.limit;
    const call = fc.record({ cost: fc.integer({ min: 1, max: most }), pause: fc.integer({ min: 0, max: 40 }) });
    return fc.record({ policy: fc.constant(policy), calls: fc.array(call, { minLength: 8, maxLength: 12 }) });
  });

/** An exact log, which knows to the microsecond when a call has room. A network would hide what is too short by less than a millisecond. */
class ExactLog {
  readonly #units: number[] = [];
  #fullAt = 0;

  constructor(private readonly policy: Policy) {}

  admit(at: number, cost: number): void {
    for (let unit = 0; unit < cost; unit++) this.#units.push(at);
    if (this.policy.algorithm === 'token-bucket') this.#fullAt = Math.max(this.#fullAt, at) + cost * this.#step;
  }

  roomAt(at: number, cost: number): number {
    const { policy } = this;
    if (policy.algorithm === 'token-bucket') return this.#fullAt + (cost - policy.burst!) * this.#step;
    if (policy.algorithm !== 'sliding-log') return 0;
    const span = Number(policy.window) * 1000;
    const live = this.#units.filter((unit) => unit > at - span);
    return live[live.length + cost - policy.limit - 1]! + span;
  }

  get #step(): number {
    const { window, limit } = this.policy as { window: number; limit: number };
    return (window * 1000) / limit;
  }
}

describeOnEachTopology('retryAfterMs', { user: 'rateLimit' }, (topology) => {
  let opened: TestLimits;
  let limits: RateLimitService;

  beforeAll(async () => {
    opened = await openLimits(topology);
    ({ limits } = opened);
  });
  afterAll(() => opened?.close());

  /** The refused calls, and what the same call was told after it had waited. */
  async function play({ policy, calls }: Case, id: number): Promise<{ waits: number; broken: unknown[] }> {
    const defined = definePolicy(`retry-${id}`, policy);
    const broken: unknown[] = [];
    let waits = 0;
    const log = new ExactLog(policy);
    for (const { cost, pause } of calls) {
      await wait(pause);
      const first = await limits.consume(defined, 'somebody', { cost });
      if (first.allowed) {
        log.admit(first.at!, cost);
        continue;
      }
      waits++;
      // Timers fire up to a millisecond early.
      if (first.at! + (first.retryAfterMs - 1) * 1000 < Math.floor(log.roomAt(first.at!, cost)))
        broken.push({ policy, cost, first });
      await sleep(first.retryAfterMs);
      const second = await limits.consume(defined, 'somebody', { cost });
      if (second.allowed) log.admit(second.at!, cost);
      else broken.push({ policy, cost, first, second });
    }
    return { waits, broken };
  }

  it('is kept: who waits so long is admitted, whatever the algorithm, the cost, the time and the block', async () => {
    const played = await Promise.all(fc.sample(cases, { numRuns: CASES, seed: SEED }).map(play));
    expect(played.flatMap(({ broken }) => broken)).toEqual([]);
    expect(played.reduce((sum, { waits }) => sum + waits, 0)).toBeGreaterThan(CASES);
  });

  it('is what a call with `wait` waits for, and no longer than it is told to', async () => {
    const policy = definePolicy('patient', { algorithm: 'sliding-log', limit: 2, window: 200 });
    const calls = [1, 2, 3, 4].map(() => limits.consume(policy, 'patient', { wait: '10s' }));
    expect((await Promise.all(calls)).map(({ allowed }) => allowed)).toEqual([true, true, true, true]);
    const startedAt = performance.now();
    const refused = await limits.consume(policy, 'patient', { wait: 1 });
    expect(refused).toMatchObject({ allowed: false });
    expect(performance.now() - startedAt).toBeLessThan(150);
  });

  it('is waited for no longer than the caller lives', async () => {
    const policy = definePolicy('leaving', { limit: 1, window: '1m' });
    await limits.consume(policy, 'leaving');
    const reason = new Error('the client has left');
    const leaving = new AbortController();
    const call = limits.consume(policy, 'leaving', { wait: '10m', signal: leaving.signal });
    setImmediate(() => leaving.abort(reason));
    await expect(call).rejects.toBe(reason);
    const other = await openLimits(topology);
    const waiting = other.limits.consume(policy, 'leaving', { wait: '10m' });
    await other.limits.peek(policy, 'leaving');
    await other.close();
    expect(await waiting).toMatchObject({ allowed: false });
  });
});
