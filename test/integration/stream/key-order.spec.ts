import { describe, expect, it } from '@jest/globals';
import { neverRun, outOfOrder, type KeyRun } from './key-order.js';

const run = (key: string, seq: number, from: number, to = from + 1, excused = false): KeyRun => ({
  key,
  seq,
  owner: 'one',
  from,
  to,
  excused,
});

describe('the account of keys', () => {
  it('finds nothing wrong with keys that go on beside each other, and messages that run again', () => {
    const runs = [run('a', 0, 0), run('b', 0, 0.5), run('a', 0, 2), run('a', 1, 3), run('b', 1, 2)];
    expect(outOfOrder(runs)).toEqual([]);
    expect(neverRun(runs, new Map(Object.entries({ a: 2, b: 2 })))).toEqual([]);
  });

  it('finds late starts, overlaps, and what was left out', () => {
    expect(outOfOrder([run('a', 1, 0), run('a', 0, 2)])).toEqual([
      'a 0 (one, 2.0 to 3.0) starts after a 1 (one, 0.0 to 1.0)',
    ]);
    expect(outOfOrder([run('a', 0, 0, 9), run('a', 1, 2), run('a', 2, 4)])).toHaveLength(2);
    expect(outOfOrder([run('a', 0, 0, Infinity), run('a', 0, 2)])).toHaveLength(1);
    expect(neverRun([run('a', 0, 0)], new Map([['a', 2]]))).toEqual(['a 1']);
  });

  it('excuses the run that nobody could end, but no later start', () => {
    expect(outOfOrder([run('a', 0, 0, 9, true), run('a', 0, 2), run('a', 1, 4)])).toEqual([]);
    expect(outOfOrder([run('a', 0, 0, 9, true), run('a', 0, 2), run('a', 1, 4), run('a', 0, 5)])).toHaveLength(1);
  });
});
