import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { backoffBound, backoffDelay } from './backoff.js';

describe('backoffDelay', () => {
  it('doubles the bound with each attempt up to the maximum', () => {
    const bounds = [1, 2, 3, 4, 5].map((attempt) => backoffBound(attempt, { base: 10, max: 65 }));
    expect(bounds).toEqual([10, 20, 40, 65, 65]);
  });

  it('spreads over the whole range from 0 to the bound', () => {
    const at = (random: number): number => backoffDelay(3, { base: 10, max: 1_000, random: () => random });
    expect([at(0), at(0.5), at(0.999)]).toEqual([0, 20, 39.96]);
  });

  it('stays between 0 and the maximum for every attempt, also absurd ones', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.nat(),
        fc.nat(),
        fc.double({ min: 1, max: 10, noNaN: true }),
        (attempt, base, max, factor) => {
          const delay = backoffDelay(attempt, { base, max, factor });
          expect(delay).toBeGreaterThanOrEqual(0);
          expect(delay).toBeLessThanOrEqual(max);
        },
      ),
    );
  });
});
