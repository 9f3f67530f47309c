import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  definePolicy,
  RateLimitExceededError,
  type Policy,
  type RateLimitService,
} from '../../../libs/redis-patterns/src/rate-limit/index.js';
import { eventually } from '../../support/eventually.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openLimits, wait, type TestLimits } from './test-limits.js';

const ALGORITHMS = ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket'] as const;

describeOnEachTopology('rate limits by hand', { user: 'rateLimit' }, (topology) => {
  let opened: TestLimits;
  let limits: RateLimitService;
  let subjects = 0;
  let subject: string;

  const redis = () => topology.admin.client;
  const ends = (name: string) => `${topology.namespace}:ratelimit:${name}:{${subject}}`;
  const blockOf = (name: string) => `${topology.namespace}:ratelimit~block:${ends(name)}`;
  const ttls = async () => {
    const keys = await topology.admin.keys(`${topology.namespace}:*`);
    return Promise.all(keys.map(async (key) => [key, await redis().pttl(key)] as const));
  };

  beforeAll(async () => {
    opened = await openLimits(topology);
    ({ limits } = opened);
  });
  afterAll(() => opened?.close());
  beforeEach(() => {
    subject = `user:${++subjects}`;
  });

  describe.each(ALGORITHMS)('refunds of a %s', (algorithm) => {
    const ten = definePolicy(`refund-${algorithm}`, { algorithm, limit: 10, window: '10m' });

    it('give units back, and never more than are taken', async () => {
      const { at } = await limits.consume(ten, subject, { cost: 4 });
      await limits.consume(ten, subject, { cost: 2 });
      await limits.refund(ten, subject, { cost: 3, at: at! });
      expect((await limits.peek(ten, subject)).remaining).toBe(7);
      for (let refund = 0; refund < 3; refund++) await limits.refund(ten, subject, { cost: 5 });
      expect(await limits.peek(ten, subject)).toMatchObject({ remaining: 10, resetAfterMs: 0 });
      expect(await redis().exists(ends(ten.name))).toBe(0);
      await limits.refund(ten, subject, { at: at! });
      expect(await redis().exists(ends(ten.name))).toBe(0);
    });

    it('change nothing in a window that is newer than the charge', async () => {
      const { at } = await limits.consume(ten, subject, { cost: 5 });
      const before = await redis().dump(ends(ten.name));
      const twoWindows = 2 * 600_000_000;
      for (const cost of [1, 5]) await limits.refund(ten, subject, { cost, at: at! - twoWindows });
      expect(await redis().dump(ends(ten.name))).toBe(before);
    });

    it('make no key that lives for ever', async () => {
      await limits.consume(ten, subject, { cost: 5 });
      await limits.refund(ten, subject, { cost: 1 });
      await redis().persist(ends(ten.name));
      await limits.refund(ten, subject, { cost: 1 });
      const left = await redis().pttl(ends(ten.name));
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThanOrEqual(660_000);
    });
  });

  it('a charge is given back once, however often that is asked for', async () => {
    const api = definePolicy('once', { limit: 10, window: '10m' });
    const charges = [{ policy: limits.policies.find(api, 'the spec'), cost: 3, subject }];
    const [first, second] = [await limits.decide(charges), await limits.decide(charges)];
    await Promise.all([1, 2, 3].map(() => limits.refundCharges(charges, first)));
    expect((await limits.peek(api, subject)).remaining).toBe(7);
    await limits.refundCharges(charges, second);
    expect((await limits.peek(api, subject)).remaining).toBe(10);
  });

  it('a refusal blocks for longer each time, up to the longest, and costs nothing while it does', async () => {
    const block = { for: '10s', escalate: 3, max: '60s' } as const;
    const login = definePolicy('login', { limit: 2, window: 50, buckets: 2, block });
    const seen: number[] = [];
    for (let round = 0; round < 4; round++) {
      // In one write, so that no stall of this process comes between them: the window is short.
      const [, refused] = await Promise.all([
        limits.consume(login, subject, { cost: 2 }),
        limits.consume(login, subject),
      ]);
      expect(refused).toMatchObject({ allowed: false, remaining: 0 });
      seen.push(refused.retryAfterMs - 1);
      // Blocked, though the window has long passed; another try does not make it longer.
      await wait(100);
      const again = await limits.consume(login, subject);
      expect(again.retryAfterMs).toBeLessThan(refused.retryAfterMs);
      expect(await redis().pttl(blockOf('login'))).toBeLessThanOrEqual(2 * refused.retryAfterMs);
      // As if the block had just ended.
      const level = (await redis().get(blockOf('login')))!.split(':')[1];
      await redis().set(blockOf('login'), `1:${level}`, 'PX', 60_000);
    }
    expect(seen).toEqual([10_000, 30_000, 60_000, 60_000]);
    await limits.unblock(login, subject);
    expect(await redis().exists(blockOf('login'))).toBe(0);
  });

  it('a peek, and a cost that can never pass, block nobody', async () => {
    const strict = definePolicy('strict', { limit: 2, window: '1m', block: { for: '1h' } });
    await limits.consume(strict, subject, { cost: 2 });
    await limits.peek(strict, subject);
    await limits.consume(strict, subject, { cost: 3 });
    expect(await redis().exists(blockOf('strict'))).toBe(0);
    const refused = await limits.consume(strict, subject);
    // A millisecond for timers, which is no second more for clients over HTTP.
    expect(refused.retryAfterMs).toBe(3_600_001);
    expect(new RateLimitExceededError(refused).retryAfter).toBe(3_600);
  });

  it('block() keeps a subject out of any policy, until its end, unblock() or reset()', async () => {
    const policies = ALGORITHMS.map((algorithm) =>
      definePolicy(`shut-${algorithm}`, { algorithm, limit: 5, window: '1m' }),
    );
    await limits.block(policies, subject, '1h');
    for (const policy of policies) {
      const refused = await limits.consume(policy, subject);
      expect(refused).toMatchObject({ allowed: false, retryable: true, remaining: 0 });
      expect(refused.retryAfterMs).toBeGreaterThan(3_590_000);
    }
    const leased = definePolicy('shut-leases', { algorithm: 'concurrency', limit: 5 });
    await limits.block(leased, subject, '1h');
    expect(await limits.acquire(leased, subject)).toBeNull();
    await limits.unblock(policies.slice(1), subject);
    expect(await limits.consume(policies, subject)).toMatchObject({ violated: [policies[0]!.name] });
    await limits.reset(policies, subject);
    expect(await limits.consume(policies, subject)).toMatchObject({ allowed: true, remaining: 4 });
    await limits.block(policies, subject, 60);
    await eventually(async () => (await limits.consume(policies, subject)).allowed);
    await expect(limits.block(policies, subject, 0)).rejects.toThrow(/duration: must be at least 1ms/);
  });

  it('a shadow policy counts what is admitted, tells what it would do, and refuses nobody', async () => {
    const real = definePolicy('real', { limit: 3, window: '1m' });
    const shadow = definePolicy('shadow', { limit: 2, window: '1m', shadow: true });
    const results = [];
    for (let call = 0; call < 5; call++) results.push(await limits.consume([shadow, real], subject));
    expect(results.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false]);
    expect(results[2]).toMatchObject({ policy: 'real', violated: [], remaining: 0 });
    expect(results.map(({ policies }) => policies.find(({ policy }) => policy === 'shadow')?.allowed)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    // What the real one refused, the shadow did not count.
    const other = { ...shadow, shadow: false } as Policy & { name: string };
    expect(await limits.peek(other, subject)).toMatchObject({ remaining: 0 });
    expect(await limits.consume(shadow, subject)).toMatchObject({ allowed: true, retryAfterMs: 0, violated: [] });
  });

  it.each(ALGORITHMS)('upTo takes what is there of a %s, from all policies the same', async (algorithm) => {
    const seven = definePolicy(`some-${algorithm}`, { algorithm, limit: 7, window: '10m' });
    const five = definePolicy(`fewer-${algorithm}`, { algorithm, limit: 5, window: '10m' });
    expect(await limits.consume(seven, subject, { cost: 3, upTo: true })).toMatchObject({ charged: 3, remaining: 4 });
    const both = await limits.consume([five, seven], subject, { cost: 9, upTo: true });
    expect(both).toMatchObject({ allowed: true, charged: 4, remaining: 0 });
    expect((await limits.peek(five, subject)).remaining).toBe(1);
    const none = await limits.consume([five, seven], subject, { cost: 9, upTo: true });
    expect(none).toMatchObject({ allowed: false, charged: 0, retryable: true });
    expect((await limits.peek(five, subject)).remaining).toBe(1);
  });

  it('leave no key that never ends, whatever was called', async () => {
    const found = await ttls();
    expect(found.length).toBeGreaterThan(10);
    expect(found.filter(([, ttl]) => ttl === -1)).toEqual([]);
  });

  it('refuse what makes no sense, with the remedy', async () => {
    const lease = definePolicy('lease', { algorithm: 'concurrency', limit: 2 });
    const api = definePolicy('api', { limit: 2, window: '1m' });
    await expect(limits.consume(lease, subject)).rejects.toThrow(/'lease': is a 'concurrency' policy.*use acquire\(\)/);
    await expect(limits.refund(lease, subject)).rejects.toThrow(/use release\(\) of the lease/);
    await expect(limits.acquire(api, subject)).rejects.toThrow(/'api': is a 'sliding-window' policy; use consume\(\)/);
    await expect(limits.refund(api, subject, { at: 1.5 })).rejects.toThrow(/at: must be the `at` of a result/);
    await expect(limits.consume(api, subject, { wait: '1 minute' as never })).rejects.toThrow(
      /wait: '1 minute' is not/,
    );
  });
});
