import { describe, expect, it } from '@jest/globals';
import { RequestClock } from './request-clock.js';

describe('RequestClock', () => {
  it('asks once for what is far from over, and again for what seems to be', async () => {
    let asked = 0;
    let now = 1_000_000;
    const clock = new RequestClock(async () => (asked++, now));
    expect(await Promise.all([1, 2, 3].map(() => clock.isOver(now + 60_000)))).toEqual([false, false, false]);
    expect(await clock.isOver(now + 60_000)).toBe(false);
    expect(asked).toBe(1);
    expect(await clock.isOver(now - 1)).toBe(true);
    expect(asked).toBe(2);
    // The clock of Redis was set back meanwhile: what seems to be over is asked for.
    now -= 1000;
    expect(await clock.isOver(now + 1)).toBe(false);
    expect(asked).toBe(3);
  });

  it('counts the time from the question, not from the answer', async () => {
    const now = 1_000_000;
    const began = performance.now();
    let asked = 0;
    const clock = new RequestClock(async () => {
      if (++asked > 1) return now + 1000;
      await new Promise((resolve) => setTimeout(resolve, 30));
      return now;
    });
    expect(await clock.isOver(now + 20)).toBe(false);
    expect(performance.now() - began).toBeGreaterThan(20);
    // As much may have passed since Redis looked at its clock.
    expect(await clock.isOver(now + 20)).toBe(true);
    expect(asked).toBe(2);
  });
});
