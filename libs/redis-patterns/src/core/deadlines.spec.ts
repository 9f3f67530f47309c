import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Deadlines, type Expiring } from './deadlines.js';

describe('Deadlines', () => {
  let expired: string[];
  let deadlines: Deadlines;
  beforeEach(() => {
    jest.useFakeTimers();
    expired = [];
    deadlines = new Deadlines();
  });
  afterEach(() => {
    jest.useRealTimers();
  });
  const thing = (name: string): Expiring => ({ startedAt: performance.now(), expire: () => expired.push(name) });

  it('lets each expire when its own time is over, with one timer for those of one length', () => {
    for (let i = 0; i < 100; i++) {
      deadlines.add(thing(`${i}`), 500);
      jest.advanceTimersByTime(1);
    }
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(398);
    expect(expired).toEqual([]);
    // A timer may be a millisecond off, never more.
    jest.advanceTimersByTime(52);
    expect(expired.length).toBeGreaterThanOrEqual(50);
    expect(expired.length).toBeLessThanOrEqual(52);
    jest.advanceTimersByTime(50);
    expect(expired).toEqual(Array.from({ length: 100 }, (_, i) => `${i}`));
    expect(jest.getTimerCount()).toBe(0);
  });

  it('lets nothing expire that is over, whoever stands before or behind it', () => {
    const [first, second] = [thing('first'), thing('second')];
    const lane = deadlines.add(first, 100);
    deadlines.add(second, 100);
    jest.advanceTimersByTime(50);
    const third = thing('third');
    deadlines.add(third, 100);
    lane.delete(first);
    jest.advanceTimersByTime(51);
    expect(expired).toEqual(['second']);
    lane.delete(third);
    lane.delete(third);
    jest.advanceTimersByTime(1_000);
    expect(expired).toEqual(['second']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('goes on with what comes after a pause, and with what an expiry begins', () => {
    deadlines.add(thing('early'), 100);
    jest.advanceTimersByTime(5_000);
    const again: Expiring = { startedAt: performance.now(), expire: () => void deadlines.add(thing('later'), 100) };
    deadlines.add(again, 100);
    jest.advanceTimersByTime(101);
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(100);
    expect(expired).toEqual(['early', 'later']);
  });

  it('forgets lengths that come once, and what still waits expires all the same', () => {
    const waits = thing('waits');
    deadlines.add(waits, 700);
    for (let ms = 1_000; ms < 2_000; ms++) {
      const one = thing('once');
      deadlines.add(one, ms).delete(one);
    }
    expect(jest.getTimerCount()).toBeLessThan(20);
    jest.advanceTimersByTime(701);
    expect(expired).toEqual(['waits']);
    deadlines.add(thing('again'), 700);
    jest.advanceTimersByTime(5_000);
    expect(expired).toEqual(['waits', 'again']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('knows lengths beyond what setTimeout does', () => {
    const DAY = 86_400_000;
    deadlines.add(thing('far'), 60 * DAY);
    jest.advanceTimersByTime(60 * DAY - 2);
    expect(expired).toEqual([]);
    jest.advanceTimersByTime(3);
    expect(expired).toEqual(['far']);
  });

  it('keeps the process running while something waits that is to, until it is released', () => {
    jest.useRealTimers();
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    deadlines.add(thing('background'), 60_000);
    expect(timers()).toBe(before);
    const kept = new Deadlines({ keepAlive: true });
    const call = thing('call');
    const lane = kept.add(call, 60_000);
    expect(timers()).toBe(before + 1);
    kept.release();
    expect(timers()).toBe(before);
    lane.delete(call);
    kept.add(call, 30_000).delete(call);
    expect(timers()).toBe(before);
  });
});
