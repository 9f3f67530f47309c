import { beforeEach, describe, expect, it } from '@jest/globals';
import { LocalLimiter } from './local-limiter.js';
import type { Mode, Ticket } from './limit-store.js';
import type { ResolvedPolicy } from './policy.js';
import { resolvePolicy } from './policy.schema.js';

describe('LocalLimiter', () => {
  let now: number;
  const clock = (): number => now;
  const policy = resolvePolicy('ten', { limit: 10, window: '10s' }, 'the spec');
  const other = resolvePolicy('two', { limit: 2, window: '10s' }, 'the spec');
  const charge = (cost = 1, key = 'a', of: ResolvedPolicy = policy) => ({ key, policy: of, cost, subject: key });

  const decide = (limiter: LocalLimiter, tickets: Ticket[], mode: Mode = 'take') =>
    limiter.decide(tickets, mode).standings;

  beforeEach(() => {
    now = 1_000_000.123;
  });

  it('grants the limit at once, and then one unit for each part of the window', () => {
    const limiter = new LocalLimiter(1, clock);
    for (let left = 9; left >= 0; left--) {
      expect(decide(limiter, [charge()])).toEqual([{ wait: 0, remaining: left, reset: (10 - left) * 1000 }]);
    }
    expect(decide(limiter, [charge()])).toMatchObject([{ wait: 1000, remaining: 0 }]);
    now += 999;
    expect(decide(limiter, [charge()])).toMatchObject([{ wait: 1 }]);
    now += 1;
    expect(decide(limiter, [charge()])).toMatchObject([{ wait: 0, remaining: 0 }]);
  });

  it('grants its share, which is one unit at least', () => {
    const half = new LocalLimiter(0.5, clock);
    const tiny = new LocalLimiter(0.01, clock);
    const admitted = (limiter: LocalLimiter): number =>
      Array.from({ length: 20 }, () => decide(limiter, [charge()])).filter(([each]) => each!.wait === 0).length;
    expect(admitted(half)).toBe(5);
    expect(admitted(tiny)).toBe(1);
  });

  it('lets a call that fits the limit but not the share take all of it', () => {
    const limiter = new LocalLimiter(0.5, clock);
    expect(decide(limiter, [charge(8)])).toMatchObject([{ wait: 0, remaining: 0 }]);
    expect(decide(limiter, [charge(8)])).toMatchObject([{ wait: 10_000 }]);
    expect(decide(limiter, [charge(11)])).toMatchObject([{ wait: -1 }]);
  });

  it('takes from all policies or from none', () => {
    const limiter = new LocalLimiter(1, clock);
    const both = [charge(1, 'a'), charge(1, 'b', other)];
    expect([1, 2, 3].map(() => decide(limiter, both).every(({ wait }) => wait === 0))).toEqual([true, true, false]);
    expect(decide(limiter, [charge(0, 'a')])).toMatchObject([{ remaining: 8 }]);
  });

  it('takes nothing when it only looks', () => {
    const limiter = new LocalLimiter(1, clock);
    decide(limiter, [charge(4)], 'peek');
    expect(limiter.size).toBe(0);
  });

  it('forgets who has all units back, and beyond 10 000 who was not seen for longest', () => {
    const limiter = new LocalLimiter(1, clock);
    for (let n = 0; n < 100; n++) decide(limiter, [charge(1, `early:${n}`)]);
    now += 2_000;
    for (let n = 0; n < 12_000; n++) decide(limiter, [charge(1, `late:${n}`)]);
    expect(limiter.size).toBe(10_000);
    expect(decide(limiter, [charge(0, 'late:11999')], 'peek')).toMatchObject([{ remaining: 9 }]);
    expect(decide(limiter, [charge(0, 'late:0')], 'peek')).toMatchObject([{ remaining: 10 }]);
  });
});
