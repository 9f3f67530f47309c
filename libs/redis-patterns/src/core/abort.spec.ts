import { getEventListeners } from 'node:events';
import { describe, expect, it, jest } from '@jest/globals';
import { onAbort, raceSignal, sleep } from './abort.js';

function listeners(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length;
}

describe('raceSignal', () => {
  it('gives the result or the error of the promise and leaves no listener behind', async () => {
    const { signal } = new AbortController();
    const error = new Error('boom');
    await expect(raceSignal(Promise.resolve(1), signal)).resolves.toBe(1);
    await expect(raceSignal(Promise.reject(error), signal)).rejects.toBe(error);
    expect(listeners(signal)).toBe(0);
  });

  it('rejects with the reason when the signal aborts first, and swallows a later failure', async () => {
    const controller = new AbortController();
    let fail!: (error: Error) => void;
    const work = new Promise<never>((_, reject) => (fail = reject));
    const raced = raceSignal(work, controller.signal);
    const reason = new Error('stop');
    controller.abort(reason);
    await expect(raced).rejects.toBe(reason);
    fail(new Error('late'));
    await new Promise(setImmediate); // an unhandled rejection would fail the test here
    expect(listeners(controller.signal)).toBe(0);
  });

  it('rejects for a signal that has aborted already, even if the promise has settled', async () => {
    const reason = new Error('stop');
    await expect(raceSignal(Promise.resolve(1), AbortSignal.abort(reason))).rejects.toBe(reason);
    await expect(raceSignal(Promise.reject(new Error('x')), AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  it('passes the promise through when there is no signal', () => {
    const promise = Promise.resolve(1);
    expect(raceSignal(promise)).toBe(promise);
  });
});

describe('sleep', () => {
  it('ends after its time and leaves no listener behind', async () => {
    const { signal } = new AbortController();
    const start = performance.now();
    const sleeping = sleep(20, signal);
    expect(listeners(signal)).toBe(1);
    await sleeping;
    expect(performance.now() - start).toBeGreaterThan(18);
    expect(listeners(signal)).toBe(0);
  });

  it('ends at once with the reason when the signal aborts', async () => {
    const controller = new AbortController();
    const sleeping = sleep(3_600_000, controller.signal);
    controller.abort('stop');
    await expect(sleeping).rejects.toBe('stop');
    await expect(sleep(3_600_000, controller.signal)).rejects.toBe('stop');
    expect(listeners(controller.signal)).toBe(0);
  });

  it('keeps neither a timer after an abort nor the process running', async () => {
    jest.useFakeTimers();
    try {
      const controller = new AbortController();
      const sleeping = sleep(1_000, controller.signal);
      expect(jest.getTimerCount()).toBe(1);
      controller.abort('stop');
      await expect(sleeping).rejects.toBe('stop');
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('onAbort', () => {
  it('calls back once with the reason, at once when it is too late to wait', () => {
    const controller = new AbortController();
    const [early, late, stopped] = [jest.fn(), jest.fn(), jest.fn()];
    onAbort(controller.signal, early);
    onAbort(controller.signal, stopped)();
    controller.abort('stop');
    onAbort(controller.signal, late);
    expect(early.mock.calls).toEqual([['stop']]);
    expect(late.mock.calls).toEqual([['stop']]);
    expect(stopped).not.toHaveBeenCalled();
  });

  it('puts one listener on a signal, however many wait for it', () => {
    const controller = new AbortController();
    const callbacks = Array.from({ length: 20 }, () => jest.fn());
    const stops = callbacks.map((callback) => onAbort(controller.signal, callback));
    expect(listeners(controller.signal)).toBe(1);
    stops.pop()!();
    controller.abort('stop');
    expect(callbacks.filter((callback) => callback.mock.calls.length === 1)).toHaveLength(19);
    expect(listeners(controller.signal)).toBe(0);
  });
});
