import { describe, expect, it } from '@jest/globals';
import { Flights, type Flight, type LoadOutcome } from './flights.js';

const outcome = (value: unknown): LoadOutcome => ({ value, content: undefined, covers: Infinity, offline: false });

describe('running loads', () => {
  it('are found until they end', async () => {
    const flights = new Flights();
    const flight = flights.start('k', async () => outcome(1));
    expect(flights.find('k')).toBe(flight);
    await flight.outcome;
    await Promise.resolve();
    expect(flights.find('k')).toBeUndefined();
  });

  it('are not found any more when they are detached, and do not remove the one that came after them', async () => {
    const flights = new Flights();
    let end = (): void => {};
    const first = flights.start('k', () => new Promise((resolve) => (end = () => resolve(outcome(1)))));
    flights.detach('k');
    const second = flights.start('k', () => new Promise(() => {}));
    expect(flights.find('k')).toBe(second);
    end();
    await first.outcome;
    await Promise.resolve();
    expect(flights.find('k')).toBe(second);
  });

  it('give a ticket of a later round to who joins after a round has ended', () => {
    let flight!: Flight;
    new Flights().start('k', (started) => {
      flight = started;
      return new Promise(() => {});
    });
    const before = flight.ticket;
    const covered = flight.nextRound();
    expect(before <= covered).toBe(true);
    expect(flight.ticket <= covered).toBe(false);
  });

  it('abort when the last caller gives up, and are not found any more', async () => {
    const flights = new Flights();
    const flight = flights.start('k', () => new Promise(() => {}));
    const [one, two] = [new AbortController(), new AbortController()];
    const waits = [flight.wait(one.signal), flight.wait(two.signal)];
    one.abort();
    await expect(waits[0]).rejects.toBe(one.signal.reason);
    expect(flight.signal.aborted).toBe(false);
    two.abort('enough');
    await expect(waits[1]).rejects.toBe('enough');
    expect(flight.signal.reason).toBe('enough');
    expect(flights.find('k')).toBeUndefined();
  });

  it('leave no unhandled rejection when they fail and nobody waits', async () => {
    const flights = new Flights();
    flights.start('k', () => Promise.reject(new Error('nobody sees me')));
    await new Promise((resolve) => setImmediate(resolve));
    expect(flights.find('k')).toBeUndefined();
  });

  it('are aborted at the end when they do not end by themselves', async () => {
    const flights = new Flights();
    const flight = flights.start('k', () => new Promise(() => {}));
    await flights.drain(AbortSignal.timeout(5));
    expect(flight.signal.aborted).toBe(true);
  });
});
