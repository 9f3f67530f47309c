import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { definePolicy, type RateLimitResult } from '../../../libs/redis-patterns/src/rate-limit/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openLimits, wait, type TestLimits } from './test-limits.js';

/** What is decided before Redis is asked: lists, `resolve`, and refusals that still hold. */
describeOnEachTopology('rate limits without a command', { user: 'rateLimit' }, (topology) => {
  let opened: TestLimits;
  let other: TestLimits;
  let subjects = 0;
  let subject: string;

  const api = definePolicy('api', { algorithm: 'sliding-log', limit: 3, window: '1m' });
  const options = {
    allow: ['user:root', '10.0.0.0/8'],
    deny: ['ip:203.0.113.7', '2001:db8:bad::/48'],
    denyStatus: 403 as const,
  };
  const decide = (who: string, more: object = {}, policy = api): Promise<RateLimitResult> =>
    opened.limits.decide([{ policy: opened.limits.policies.find(policy, 'the spec'), cost: 1, subject: who }], more);
  /** Runs it, and tells how many commands it took. */
  const commandsOf = async (work: () => Promise<unknown>): Promise<number> => {
    const evalsha = jest.spyOn(opened.engine.connection.client, 'evalsha');
    try {
      await work();
      return evalsha.mock.calls.length;
    } finally {
      evalsha.mockRestore();
    }
  };

  beforeAll(async () => {
    const place = { ...options, blockCache: { max: 100, maxAge: 400 } };
    [opened, other] = await Promise.all([openLimits(topology, place), openLimits(topology)]);
  });
  afterAll(() => Promise.all([opened?.close(), other?.close()]));
  beforeEach(() => {
    subject = `user:${++subjects}`;
  });

  it('lists of the module let pass and keep out, by subject and by address', async () => {
    const results: RateLimitResult[] = [];
    const commands = await commandsOf(async () => {
      for (const who of ['user:root', 'ip:10.1.2.3', 'ip:203.0.113.7', 'ip:2001:db8:bad:1::/64']) {
        results.push(await decide(who));
      }
      // By where the call comes from, whoever is counted.
      results.push(await decide(subject, { address: '::ffff:10.9.9.9' }));
      results.push(await decide('user:root', { address: '203.0.113.7' }));
    });
    expect(commands).toBe(0);
    expect(results.map(({ allowed }) => allowed)).toEqual([true, true, false, false, true, false]);
    expect(new Set(results.map(({ source }) => source))).toEqual(new Set(['list']));
    expect(results[0]).toMatchObject({ policies: [], charged: 0, limit: Infinity, denyStatus: undefined });
    expect(results[2]).toMatchObject({ retryable: false, retryAfterMs: Infinity, denyStatus: 403, violated: ['api'] });
  });

  it('lists of a policy concern that policy, and deny wins', async () => {
    const listed = definePolicy('listed', {
      limit: 2,
      window: '1m',
      allow: [subject],
      deny: ['user:evil'],
      denyStatus: 429,
    });
    const { limits } = opened;
    expect(await limits.consume([listed, api], subject)).toMatchObject({
      policy: 'api',
      remaining: 2,
      source: 'redis',
    });
    expect((await limits.consume([listed, api], subject)).policies).toHaveLength(1);
    expect(await limits.consume([listed, api], 'user:evil')).toMatchObject({ allowed: false, denyStatus: 429 });
    expect(await limits.peek(listed, 'user:evil')).toMatchObject({ allowed: false, source: 'list' });
    expect(await limits.peek(api, 'user:evil')).toMatchObject({ remaining: 3 });
  });

  it('resolve gives a subject limits of its own, or leaves the policy out', async () => {
    const seen: unknown[] = [];
    const plans = definePolicy('plans', {
      limit: 5,
      window: '1m',
      resolve: async (context) => {
        seen.push(context);
        if (context.subject.endsWith('free')) return { limit: 1 };
        return context.subject.endsWith('staff') ? null : {};
      },
    });
    const { limits } = opened;
    const free = `${subject}:free`;
    expect(await limits.consume(plans, free)).toMatchObject({ allowed: true, limit: 1, remaining: 0 });
    const refused = await limits.consume(plans, free);
    expect(refused).toMatchObject({ allowed: false, source: 'redis' });
    expect(await limits.consume(plans, free)).toMatchObject({ allowed: false, source: 'cache' });
    expect(await limits.consume(plans, `${subject}:staff`)).toMatchObject({ allowed: true, source: 'list' });
    const paid = await decide(`${subject}:paid`, { args: [1, 'two'] }, plans as never);
    expect(paid).toMatchObject({ limit: 5, remaining: 4 });
    expect(seen.at(-1)).toEqual({ policy: 'plans', subject: `${subject}:paid`, args: [1, 'two'] });
    const broken = definePolicy('broken', { limit: 5, window: '1m', resolve: () => ({ limit: -1 }) });
    await expect(limits.consume(broken, subject)).rejects.toThrow(/resolve of rate limit policy 'broken'.*\n.*limit/);
  });

  it('a refund goes to what resolve had said when it was charged', async () => {
    const plans = definePolicy('refunded', {
      algorithm: 'token-bucket',
      limit: 5,
      window: '1h',
      resolve: () => ({ limit: 2 }),
    });
    const charges = [{ policy: opened.limits.policies.find(plans, 'the spec'), cost: 2, subject }];
    const result = await opened.limits.decide(charges);
    expect(result).toMatchObject({ allowed: true, remaining: 0 });
    await opened.limits.refundCharges(charges, result);
    expect(await opened.limits.consume(plans, subject, { cost: 2 })).toMatchObject({ allowed: true });
  });

  describe('refusals that still hold', () => {
    const refuse = async () => {
      await opened.limits.reset(api, subject);
      await opened.limits.consume(api, subject, { cost: 3 });
      return opened.limits.consume(api, subject);
    };

    it('answer without a command, for the time that is left', async () => {
      const refused = await refuse();
      expect(refused.source).toBe('redis');
      await wait(20);
      let again: RateLimitResult | undefined;
      expect(await commandsOf(async () => (again = await opened.limits.consume(api, subject)))).toBe(0);
      expect(again).toMatchObject({ allowed: false, source: 'cache', violated: ['api'], remaining: 0, at: undefined });
      expect(again!.retryAfterMs).toBeLessThanOrEqual(refused.retryAfterMs - 19);
      // What costs less, only looks, or asks for another limit may have room.
      expect((await opened.limits.consume(api, subject, { cost: 0 })).allowed).toBe(true);
      expect((await opened.limits.peek(api, subject)).source).toBe('redis');
      const wider = definePolicy('api', { algorithm: 'sliding-log', limit: 4, window: '1m' });
      expect(await opened.limits.consume(wider, subject)).toMatchObject({ allowed: true });
    });

    it('are forgotten after maxAge, and with what gives room', async () => {
      for (const work of ['refund', 'reset', 'unblock'] as const) {
        await refuse();
        expect((await opened.limits.consume(api, subject)).source).toBe('cache');
        await opened.limits[work](api, subject);
        expect((await opened.limits.consume(api, subject)).source).toBe('redis');
      }
      await refuse();
      expect((await opened.limits.consume(api, subject)).source).toBe('cache');
      await other.limits.reset(api, subject);
      await eventually(async () => (await opened.limits.consume(api, subject)).source === 'redis');
    });

    it('are no shared answer: another policy, subject or process is asked for', async () => {
      await refuse();
      expect((await opened.limits.consume(api, `${subject}:x`)).source).toBe('redis');
      expect((await other.limits.consume(api, subject)).source).toBe('redis');
      const free = definePolicy('free', { limit: 9, window: '1m' });
      expect((await opened.limits.consume(free, subject)).source).toBe('redis');
      // Together with the one that refuses, it is refused and not charged.
      expect(await opened.limits.consume([free, api], subject)).toMatchObject({ source: 'cache', violated: ['api'] });
      expect(await opened.limits.peek(free, subject)).toMatchObject({ remaining: 8 });
    });

    it('do not outlive the wait that they tell', async () => {
      const short = definePolicy('short', { algorithm: 'sliding-log', limit: 1, window: 120 });
      for (let round = 0; round < 5; round++) {
        await eventually(async () => (await opened.limits.consume(short, subject)).allowed);
        const first = await opened.limits.consume(short, subject);
        const again = await opened.limits.consume(short, subject);
        expect([first.allowed, again.source]).toEqual([false, 'cache']);
        await wait(again.retryAfterMs);
        expect((await opened.limits.consume(short, subject)).allowed).toBe(true);
      }
    });
  });
});
