import { beforeEach, describe, expect, it } from '@jest/globals';
import { LocalLimiter } from './local-limiter.js';
import { resolvePolicy, type ResolvedPolicy } from './policy.js';

describe('LocalLimiter', () => {
  let now: number;
  const clock = (): number => now;
  const policy = resolvePolicy('ten', { limit: 10, window: '10s' }, 'the spec');
  const other = resolvePolicy('two', { limit: 2, window: '10s' }, 'the spec');
  const charge = (cost = 1, key = 'a', of: ResolvedPolicy = policy) => ({ key, policy: of, cost });

  beforeEach(() => {
    now = 1_000_000.123;
  });

  it('grants the limit at once, and then one unit for each part of the window', () => {
    const limiter = new LocalLimiter(1, clock);
    for (let left = 9; left >= 0; left--) {
      expect(limiter.decide([charge()], true)).toEqual([{ wait: 0, remaining: left, reset: (10 - left) * 1000 }]);
    }
    expect(limiter.decide([charge()], true)).toMatchObject([{ wait: 1000, remaining: 0 }]);
    now += 999;
    expect(limiter.decide([charge()], true)).toMatchObject([{ wait: 1 }]);
    now += 1;
    expect(limiter.decide([charge()], true)).toMatchObject([{ wait: 0, remaining: 0 }]);
  });

  it('grants its share, which is one unit at least', () => {
    const half = new LocalLimiter(0.5, clock);
    const tiny = new LocalLimiter(0.01, clock);
    const admitted = (limiter: LocalLimiter): number =>
      Array.from({ length: 20 }, () => limiter.decide([charge()], true)).filter(([each]) => each!.wait === 0).length;
    expect(admitted(half)).toBe(5);
    expect(admitted(tiny)).toBe(1);
  });

  it('lets a call that fits the limit but not the share take all of it', () => {
    const limiter = new LocalLimiter(0.5, clock);
    expect(limiter.decide([charge(8)], true)).toMatchObject([{ wait: 0, remaining: 0 }]);
    expect(limiter.decide([charge(8)], true)).toMatchObject([{ wait: 10_000 }]);
    expect(limiter.decide([charge(11)], true)).toMatchObject([{ wait: -1 }]);
  });

  it('takes from all policies or from none', () => {
    const limiter = new LocalLimiter(1, clock);
    const both = [charge(1, 'a'), charge(1, 'b', other)];
    expect([1, 2, 3].map(() => limiter.decide(both, true).every(({ wait }) => wait === 0))).toEqual([
      true,
      true,
      false,
    ]);
    expect(limiter.decide([charge(0, 'a')], true)).toMatchObject([{ remaining: 8 }]);
  });

  it('takes nothing when it only looks', () => {
    const limiter = new LocalLimiter(1, clock);
    limiter.decide([charge(4)], false);
    expect(limiter.size).toBe(0);
  });

  it('forgets who has all units back, and beyond 10 000 who was not seen for longest', () => {
    const limiter = new LocalLimiter(1, clock);
    for (let n = 0; n < 100; n++) limiter.decide([charge(1, `early:${n}`)], true);
    now += 2_000;
    for (let n = 0; n < 12_000; n++) limiter.decide([charge(1, `late:${n}`)], true);
    expect(limiter.size).toBe(10_000);
    expect(limiter.decide([charge(0, 'late:11999')], false)).toMatchObject([{ remaining: 9 }]);
    expect(limiter.decide([charge(0, 'late:0')], false)).toMatchObject([{ remaining: 10 }]);
  });
});
