import { describe, expect, it, jest } from '@jest/globals';
import { SingleFlight } from './single-flight.js';

function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

describe('SingleFlight', () => {
  it('runs a job once for 100 callers of one key, and once per key', async () => {
    const flights = new SingleFlight<string, number>();
    const job = deferred<number>();
    const start = jest.fn(() => job.promise);
    const callers = Array.from({ length: 100 }, () => flights.run('a', start));
    const other = flights.run('b', () => Promise.resolve(2));
    expect(flights.size).toBe(2);
    job.resolve(1);
    expect(new Set(await Promise.all(callers))).toEqual(new Set([1]));
    await expect(other).resolves.toBe(2);
    expect(start).toHaveBeenCalledTimes(1);
    expect(flights.size).toBe(0);
  });

  it('keeps nothing once the job has settled: who asks next starts anew', async () => {
    const flights = new SingleFlight<string, number>();
    let runs = 0;
    const load = () => Promise.resolve(++runs);
    await flights.run('a', load);
    await expect(flights.run('a', load)).resolves.toBe(2);
  });

  it('lets a caller that goes on after the job start a new one', async () => {
    const flights = new SingleFlight<string, number>();
    let runs = 0;
    const next = await flights.run('a', () => Promise.resolve(++runs)).then(() => flights.run('a', async () => ++runs));
    expect(next).toBe(2);
  });

  it('shares one error object unchanged and then forgets it', async () => {
    const flights = new SingleFlight<string, number>();
    const error = new Error('boom');
    const fail = () => Promise.reject(error);
    const results = await Promise.allSettled([flights.run('a', fail), flights.run('a', fail)]);
    expect(results.map((result) => (result as PromiseRejectedResult).reason as unknown)).toEqual([error, error]);
    expect((results[0] as PromiseRejectedResult).reason).toBe(error);
    await expect(flights.run('a', () => 5)).resolves.toBe(5);
  });

  it('turns a synchronous throw into a rejection and leaves no entry', async () => {
    const flights = new SingleFlight<string, number>();
    const error = new Error('boom');
    const run = flights.run('a', () => {
      throw error;
    });
    await expect(run).rejects.toBe(error);
    expect(flights.size).toBe(0);
  });

  it('starts anew after a detach, and the old job does not remove the new one', async () => {
    const flights = new SingleFlight<string, string>();
    const [old, fresh] = [deferred<string>(), deferred<string>()];
    const first = flights.run('a', () => old.promise);
    expect(flights.detach('a')).toBe(true);
    expect(flights.detach('a')).toBe(false);
    const second = flights.run('a', () => fresh.promise);
    old.resolve('old');
    await expect(first).resolves.toBe('old');
    expect(flights.get('a')).toBeDefined();
    const third = flights.run('a', () => 'never started');
    fresh.resolve('fresh');
    await expect(Promise.all([second, third])).resolves.toEqual(['fresh', 'fresh']);
  });

  it('ends the wait of an aborting caller alone', async () => {
    const flights = new SingleFlight<string, number>();
    const job = deferred<number>();
    const controller = new AbortController();
    const leaver = flights.run('a', () => job.promise, controller.signal);
    const stayer = flights.run('a', () => 0);
    controller.abort('gone');
    await expect(leaver).rejects.toBe('gone');
    await expect(flights.run('a', () => 0, controller.signal)).rejects.toBe('gone');
    job.resolve(1);
    await expect(stayer).resolves.toBe(1);
  });
});
