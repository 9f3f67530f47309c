import { describe, expect, it } from '@jest/globals';
import { afterId, isUlid, timeOf, ulidAt, ulidOf, UlidSource } from './ulid.js';

describe('ids of entries', () => {
  it('grow within a millisecond, and when the clock goes back', () => {
    const source = new UlidSource();
    const times = [1000, 1000, 1001, 5, 5, 1001, ...Array.from({ length: 5000 }, () => 1001), 1002];
    const ids = times.map((ms) => source.next(ms));
    expect(ids.every(isUlid)).toBe(true);
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
    expect(timeOf(ids.at(-1)!)).toBe(1002);
  });

  it('hold their moment', () => {
    expect(ulidAt(1469918176385)).toMatch(/^01ARYZ6S41/);
    for (const ms of [0, 1, Date.UTC(2026, 10, 30), 2 ** 48 - 1]) expect(timeOf(ulidAt(ms))).toBe(ms);
    expect(ulidAt(7)).not.toBe(ulidAt(7));
    expect(ulidOf(7, 'a')).toBe(ulidOf(7, 'a'));
    expect(ulidOf(7, 'a')).not.toBe(ulidOf(7, 'b'));
  });

  it('end before the next text', () => {
    for (const id of [`${'0'.repeat(25)}0`, `${'0'.repeat(25)}9`, `${'0'.repeat(25)}Z`]) {
      expect(id < afterId(id) && `${id}\uffff` < afterId(id)).toBe(true);
    }
    expect(['', 'x'.repeat(26), `8${'0'.repeat(25)}`, `${'0'.repeat(25)}I`, 7].some(isUlid)).toBe(false);
  });
});
