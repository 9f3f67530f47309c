import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Deadline } from './deadline.js';
import { startTimer } from './timer.js';

afterEach(() => {
  jest.useRealTimers();
});

describe('Deadline', () => {
  it('has expired when it calls back, and not before', async () => {
    for (let round = 0; round < 20; round++) {
      const deadline = Deadline.after(1 + round / 7);
      expect(deadline.expired).toBe(false);
      await new Promise<void>((resolve) => deadline.onExpire(resolve, { keepAlive: true }));
      expect(deadline.expired).toBe(true);
      expect(deadline.remaining()).toBe(0);
    }
  });

  it('never comes when it is infinite', () => {
    expect(Deadline.never.expired).toBe(false);
    expect(Deadline.after(Infinity).remaining()).toBe(Infinity);
    expect(() => Deadline.never.onExpire(() => {}).clear()).not.toThrow();
  });

  it('gives a part no more time than the whole has left', () => {
    const whole = Deadline.after(100);
    expect(whole.within(1_000)).toBe(whole);
    expect(whole.within(10).at).toBeLessThan(whole.at);
    expect(Deadline.never.within(10).remaining()).toBeLessThanOrEqual(10);
  });

  it('does not move with the wall clock', () => {
    jest.useFakeTimers({ doNotFake: ['performance'] });
    const deadline = Deadline.after(60_000);
    jest.setSystemTime(Date.now() + 3_600_000);
    expect(deadline.expired).toBe(false);
  });
});

describe('startTimer', () => {
  const DAY = 86_400_000;

  it('waits longer than setTimeout can', () => {
    jest.useFakeTimers();
    const callback = jest.fn();
    startTimer(60 * DAY, callback);
    jest.advanceTimersByTime(60 * DAY - 1);
    expect(callback).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    jest.advanceTimersByTime(60 * DAY);
    expect(callback).toHaveBeenCalledTimes(1);
  });

  it('can be stopped in any stretch of a long wait', () => {
    jest.useFakeTimers();
    const callback = jest.fn();
    const timer = startTimer(60 * DAY, callback);
    jest.advanceTimersByTime(30 * DAY);
    timer.clear();
    timer.clear();
    jest.advanceTimersByTime(60 * DAY);
    expect(callback).not.toHaveBeenCalled();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('fires in the next turn for a time that is over, and never for Infinity', () => {
    jest.useFakeTimers();
    const [over, never] = [jest.fn(), jest.fn()];
    startTimer(-5, over);
    startTimer(Infinity, never);
    jest.advanceTimersByTime(365 * DAY);
    expect(over).toHaveBeenCalledTimes(1);
    expect(never).not.toHaveBeenCalled();
  });
});
