import { describe, expect, it } from '@jest/globals';
import { findOverlaps, greatestConcurrency, History } from './history.js';

describe('the history checker', () => {
  it('finds what was acknowledged and is gone, what was denied and is there, and what is there twice', () => {
    const history = new History();
    const [kept, lost, denied, twice] = [history.begin(), history.begin(), history.begin(), history.begin()];
    for (const id of [kept, lost, twice]) history.settle(id, 'ok');
    history.settle(denied, 'not-sent');
    expect(history.check([kept, denied, twice, twice, 'stranger'])).toEqual({
      lost: [lost],
      ghosts: [denied, 'stranger'],
      duplicates: [twice],
    });
  });

  it('lets an unknown outcome be there or not', async () => {
    const history = new History();
    const ids: string[] = [];
    for (let index = 0; index < 2; index++) {
      await history.attempt(
        (id) => {
          ids.push(id);
          return Promise.reject(new Error('connection lost'));
        },
        () => 'unknown',
      );
    }
    expect(history.check([ids[0]!])).toEqual({ lost: [], ghosts: [], duplicates: [] });
  });
});

describe('the checker of holds', () => {
  it('finds overlapping holds, also behind a long one', () => {
    const long = { owner: 'a', from: 0, to: 10 };
    const short = { owner: 'b', from: 1, to: 2 };
    const late = { owner: 'c', from: 9, to: 11 };
    expect(findOverlaps([late, short, long])).toEqual([
      [long, short],
      [long, late],
    ]);
    expect(greatestConcurrency([long, short, late])).toBe(2);
  });

  it('takes no offence at holds that only touch', () => {
    const holds = [
      { owner: 'a', from: 0, to: 1 },
      { owner: 'b', from: 1, to: 2 },
    ];
    expect(findOverlaps(holds)).toEqual([]);
    expect(greatestConcurrency(holds)).toBe(1);
  });
});
