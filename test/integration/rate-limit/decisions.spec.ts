import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { InvalidOptionsError } from '../../../libs/redis-patterns/src/core/index.js';
import { InvalidKeyError } from '../../../libs/redis-patterns/src/keys/index.js';
import { definePolicy, type RateLimitService } from '../../../libs/redis-patterns/src/rate-limit/index.js';
import { describeOnEachTopology } from '../../support/topologies.js';
import { openLimits, type TestLimits } from './test-limits.js';

const ALGORITHMS = ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket'] as const;
/** The longest that a key of a minute lives, milliseconds. */
const BOUNDS = { 'fixed-window': 60_000, 'sliding-window': 66_000, 'sliding-log': 60_001, 'token-bucket': 60_001 };

describeOnEachTopology('rate limit decisions', { user: 'rateLimit' }, (topology) => {
  let here: TestLimits;
  let there: TestLimits;
  let limits: RateLimitService;
  let subjects = 0;
  let subject: string;

  const policies = {
    ten: { limit: 10, window: '1m' },
    five: { limit: 5, window: '1m' },
    daily: { algorithm: 'fixed-window', limit: 20, window: '1d', align: 'clock' },
    'fixed-window': { algorithm: 'fixed-window', limit: 10, window: '1m' },
    'sliding-window': { algorithm: 'sliding-window', limit: 10, window: '1m' },
    'sliding-log': { algorithm: 'sliding-log', limit: 10, window: '1m' },
    'token-bucket': { algorithm: 'token-bucket', limit: 10, window: '1m' },
  } as const;
  const redis = () => topology.admin.client;
  const key = (policy: string) => `${topology.namespace}:ratelimit:${policy}:{${subject}}`;
  const counts = async () => {
    const found = await Promise.all([redis().get(key('daily')), redis().hvals(key('ten')), redis().hvals(key('five'))]);
    return found.map((each) =>
      Array.isArray(each) ? each.reduce((sum, count) => sum + Number(count), 0) : Number(each),
    );
  };

  beforeAll(async () => {
    [here, there] = await Promise.all([openLimits(topology, { policies }), openLimits(topology, { policies })]);
    limits = here.limits;
  });
  afterAll(() => Promise.all([here?.close(), there?.close()]));
  beforeEach(() => {
    subject = `user:${++subjects}`;
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  describe.each(ALGORITHMS)('with a %s', (algorithm) => {
    it('admit exactly 10 of 50 parallel calls over two connections at a limit of 10', async () => {
      const calls = Array.from({ length: 50 }, (_, n) =>
        (n % 2 === 0 ? here : there).limits.consume(algorithm, subject),
      );
      const results = await Promise.all(calls);
      expect(results.filter(({ allowed }) => allowed)).toHaveLength(10);
      expect(results.every(({ source }) => source === 'redis')).toBe(true);
    });

    it('count down, then tell how long to wait, and charge nothing for a refusal', async () => {
      for (let left = 9; left >= 0; left--) {
        expect(await limits.consume(algorithm, subject)).toMatchObject({ allowed: true, remaining: left, charged: 1 });
      }
      const before = await redis().dump(key(algorithm));
      const refused = await limits.consume(algorithm, subject);
      expect(refused).toMatchObject({
        allowed: false,
        limit: 10,
        remaining: 0,
        policy: algorithm,
        violated: [algorithm],
        retryable: true,
        charged: 0,
        source: 'redis',
      });
      expect(refused.retryAfterMs).toBeGreaterThan(0);
      expect(refused.retryAfterMs).toBeLessThanOrEqual(66_000);
      expect(await redis().dump(key(algorithm))).toBe(before);
    });

    it('write nothing for a peek, not even of somebody new', async () => {
      expect(await limits.peek(algorithm, subject)).toMatchObject({
        allowed: true,
        remaining: 10,
        resetAfterMs: 0,
        charged: 0,
      });
      expect(await redis().exists(key(algorithm))).toBe(0);
      await limits.consume(algorithm, subject, { cost: 4 });
      const before = await redis().dump(key(algorithm));
      expect(await limits.peek(algorithm, subject, { cost: 7 })).toMatchObject({ allowed: false, remaining: 6 });
      expect(await redis().dump(key(algorithm))).toBe(before);
    });

    it('refuse a cost above the limit for ever, and take a cost of nothing for free', async () => {
      const never = await limits.consume(algorithm, subject, { cost: 11 });
      expect(never).toMatchObject({ allowed: false, retryable: false, retryAfterMs: Infinity, remaining: 10 });
      expect(await limits.consume(algorithm, subject, { cost: 0 })).toMatchObject({ allowed: true, remaining: 10 });
      expect(await redis().exists(key(algorithm))).toBe(0);
    });

    it('keep no key longer than its window, whatever is called', async () => {
      for (let call = 0; call < 15; call++) {
        await limits.consume(algorithm, subject);
        const ttl = await redis().pttl(key(algorithm));
        expect(ttl).toBeGreaterThan(0);
        expect(ttl).toBeLessThanOrEqual(BOUNDS[algorithm]);
      }
    });

    it('do not depend on the clock of this machine', async () => {
      await limits.consume(algorithm, subject, { cost: 10 });
      const now = Date.now();
      for (const skew of [-86_400_000, 86_400_000]) {
        jest.spyOn(Date, 'now').mockReturnValue(now + skew);
        expect(await limits.consume(algorithm, subject)).toMatchObject({ allowed: false, remaining: 0 });
      }
    });

    it('give everything back on reset', async () => {
      await limits.consume(algorithm, subject, { cost: 10 });
      await limits.reset(algorithm, subject);
      expect(await limits.consume(algorithm, subject)).toMatchObject({ allowed: true, remaining: 9 });
    });

    it('obey a limit that was lowered or raised at once', async () => {
      const of = (limit: number) => definePolicy('changing', { algorithm, limit, window: '1m' });
      await limits.consume(of(10), subject, { cost: 10 });
      expect(await limits.consume(of(5), subject)).toMatchObject({ allowed: false, remaining: 0, retryable: true });
      // What a bucket lacks is a time, whatever the rate: a full burst takes the whole window.
      const left = algorithm === 'token-bucket' ? 0 : 10;
      expect(await limits.peek(of(20), subject)).toMatchObject({ allowed: left > 0, remaining: left });
    });

    it('begin anew where a key holds another algorithm or rubbish', async () => {
      await redis().rpush(key(algorithm), 'rubbish');
      expect(await limits.peek(algorithm, subject)).toMatchObject({ allowed: true, remaining: 10 });
      expect(await redis().type(key(algorithm))).toBe('list');
      expect(await limits.consume(algorithm, subject)).toMatchObject({ allowed: true, remaining: 9 });
      expect(await redis().pttl(key(algorithm))).toBeGreaterThan(0);
    });
  });

  it('repair a count without an end, or with one beyond the window, even when they refuse', async () => {
    await redis().set(key('fixed-window'), '10');
    expect(await limits.consume('fixed-window', subject)).toMatchObject({ allowed: false });
    expect(await redis().pttl(key('fixed-window'))).toBeGreaterThan(0);
    await redis().set(key('fixed-window'), '1', 'PX', 86_400_000);
    expect(await limits.consume('fixed-window', subject)).toMatchObject({ allowed: true, remaining: 8 });
    expect(await redis().pttl(key('fixed-window'))).toBeLessThanOrEqual(60_000);
  });

  it('end a clock-aligned window where the clock of the server says', async () => {
    const { resetAfterMs, at } = await limits.consume('daily', subject);
    const end = at! / 1000 + resetAfterMs;
    expect(Math.abs(end - Math.round(end / 86_400_000) * 86_400_000)).toBeLessThan(5);
    expect(await redis().pttl(key('daily'))).toBeLessThanOrEqual(86_400_000);
  });

  it('need no clean-up when window or buckets of a sliding window change', async () => {
    const of = (window: number, buckets: number) => definePolicy('resized', { limit: 4, window, buckets });
    const granted = [];
    for (const [window, buckets] of [
      [60_000, 10],
      [60_000, 100],
      [1_000, 2],
      [3_600_000, 7],
    ] as const) {
      for (let call = 0; call < 8; call++) {
        if ((await limits.consume(of(window, buckets), subject)).allowed) granted.push(window);
      }
      expect(await redis().pttl(key('resized'))).toBeLessThanOrEqual(66_000);
    }
    // What was taken before the change still counts.
    expect(granted).toEqual([60_000, 60_000, 60_000, 60_000]);
  });

  it('hold while instances with another window or other buckets run side by side', async () => {
    const of = (window: number, buckets: number) => definePolicy('sides', { limit: 20, window, buckets });
    const policies = [of(1_000, 10), of(1_000, 7), of(500, 10), of(60_000, 2)];
    const grants = policies.map((): number[] => []);
    for (const end = performance.now() + 1_500; performance.now() < end;) {
      await Promise.all(
        policies.map(async (policy, index) => {
          // The hour that the last one looks at ends no grants of the others.
          if (index === 3 && grants[3]!.length > 2) return;
          const { allowed, at } = await limits.consume(policy, subject);
          if (allowed) grants[index]!.push(at! / 1000);
        }),
      );
    }
    const all = grants.flat().toSorted((one, other) => one - other);
    expect(all.length).toBeGreaterThanOrEqual(20);
    // Those with the longer window never see more than 20 in it, whoever took them.
    for (const [index, length] of [
      [0, 1_000],
      [1, 1_000],
      [2, 500],
    ] as const) {
      for (const at of grants[index]!) {
        expect(all.filter((other) => other > at - length && other <= at).length).toBeLessThanOrEqual(20);
      }
    }
  });

  it('stay where they count when the clock of the server went back, and drop what is far ahead', async () => {
    const { at } = await limits.consume('ten', subject);
    const bucket = Math.floor(at! / 1000 / 6000);
    await redis().del(key('ten'));
    await redis().hset(key('ten'), { [`${bucket + 3}:6000`]: 9, [`${bucket + 50}:6000`]: 7 });
    expect(await limits.consume('ten', subject)).toMatchObject({ allowed: true, remaining: 0 });
    expect(await redis().hgetall(key('ten'))).toEqual({ [`${bucket + 3}:6000`]: '10' });
    expect(await limits.consume('ten', subject)).toMatchObject({ allowed: false });
  });

  it('charge all policies of a call or none of them, in any order', async () => {
    for (let call = 0; call < 5; call++) {
      expect((await limits.consume(['ten', 'five', 'daily'], subject)).allowed).toBe(true);
    }
    expect(await counts()).toEqual([5, 5, 5]);
    for (const order of [
      ['ten', 'five', 'daily'],
      ['daily', 'ten', 'five'],
      ['five', 'daily', 'ten'],
    ]) {
      const result = await limits.consume(order, subject);
      expect(result).toMatchObject({ allowed: false, policy: 'five', violated: ['five'], remaining: 0 });
      const left = Object.fromEntries(result.policies.map(({ policy, remaining }) => [policy, remaining]));
      expect(left).toEqual({ daily: 15, five: 0, ten: 5 });
    }
    expect(await counts()).toEqual([5, 5, 5]);
  });

  it('charge all policies or none when many call at once', async () => {
    const mixes = [['ten', 'five'], ['five', 'daily'], ['daily', 'ten'], ['ten']];
    const calls = Array.from({ length: 60 }, (_, n) => ({ mix: mixes[n % 4]!, over: n % 2 === 0 ? here : there }));
    const results = await Promise.all(calls.map(({ mix, over }) => over.limits.consume(mix, subject)));
    const admitted = (policy: string) =>
      calls.filter(({ mix }, n) => results[n]!.allowed && mix.includes(policy)).length;
    expect(await counts()).toEqual([admitted('daily'), admitted('ten'), admitted('five')]);
    expect(admitted('ten')).toBeLessThanOrEqual(10);
    expect(admitted('five')).toBeLessThanOrEqual(5);
  });

  it('take the longest wait, else the least room, as the answer of several policies', async () => {
    await limits.consume('ten', subject, { cost: 7 });
    expect(await limits.consume(['daily', 'ten', 'five'], subject)).toMatchObject({
      policy: 'ten',
      remaining: 2,
      limit: 10,
    });
    const never = await limits.consume(['ten', 'five', 'daily'], subject, { cost: 6 });
    expect(never).toMatchObject({ policy: 'five', retryAfterMs: Infinity, violated: ['ten', 'five'] });
    expect(never.policies.find(({ policy }) => policy === 'daily')).toMatchObject({ allowed: true, retryAfterMs: 0 });
  });

  it('keep subjects apart, however hostile their names', async () => {
    const hostile = [`${subject}}`, `${subject}:{x}`, `${subject} *`, `${subject}%3A`, `${subject}:`, `${subject}é`];
    for (const each of hostile) expect((await limits.consume('ten', each)).remaining).toBe(9);
    await limits.consume('ten', ['user', `${subject}-a`]);
    expect(await redis().exists(`${topology.namespace}:ratelimit:ten:{user:${subject.replace(':', '%253A')}-a}`)).toBe(
      1,
    );
  });

  it('cost one command, however many policies', async () => {
    const run = jest.spyOn(here.engine.connection.client, 'evalsha');
    await limits.consume(['ten', 'five', 'daily'], subject);
    expect(run).toHaveBeenCalledTimes(1);
  });

  it('refuse what cannot be counted, with the remedy', async () => {
    await expect(limits.consume('tne', subject)).rejects.toThrow(/policy 'tne': is not defined; did you mean 'ten'\?/);
    await expect(limits.consume([], subject)).rejects.toThrow(/name at least one/);
    await expect(limits.consume(['ten', 'ten'], subject)).rejects.toThrow(/policy 'ten': is listed twice/);
    await expect(limits.consume('ten', '')).rejects.toBeInstanceOf(InvalidKeyError);
    await expect(limits.consume('ten', ['user', undefined])).rejects.toThrow(/has nothing in part 1/);
    for (const cost of [-1, 1.5, NaN, Infinity]) {
      await expect(limits.consume('ten', subject, { cost })).rejects.toBeInstanceOf(InvalidOptionsError);
    }
    for (const [options, message] of [
      [{ costs: 1 }, /costs: unknown option; did you mean 'cost'\?/],
      [5, /options: must be an object/],
      [null, /options: must be an object/],
      [{ upTo: 'yes' }, /upTo: must be true or false/],
      [{ signal: {} }, /signal: must be an AbortSignal/],
    ] as const) {
      await expect(limits.consume('ten', subject, options as never)).rejects.toThrow(message);
    }
    await expect(limits.peek('ten', subject, { wait: 1 } as never)).rejects.toThrow(/peek:\n.*wait: unknown option/);
    await expect(limits.refund('ten', subject, { att: 1 } as never)).rejects.toThrow(/att: unknown option/);
    await expect(limits.acquire('ten', subject, { upTo: true } as never)).rejects.toThrow(/upTo: unknown option/);
    await expect(limits.consume({ limit: 1, window: '1s' } as never, subject)).rejects.toThrow(/name: is needed/);
    expect(await redis().exists(key('ten'))).toBe(0);
  });

  it('end with the reason of a signal that aborts', async () => {
    const reason = new Error('the client has left');
    await expect(limits.consume('ten', subject, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(await redis().exists(key('ten'))).toBe(0);
  });
});
