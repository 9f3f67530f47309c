import { expect, it } from '@jest/globals';
import { HeldTimes } from './held-times.js';

it('knows the median of the last 32 of a name, from 8 on, and of 200 names at most', () => {
  const times = new HeldTimes();
  for (let n = 1; n <= 7; n++) times.add('one', n);
  expect(times.median('one')).toBeUndefined();
  times.add('one', 1000);
  expect(times.median('one')).toBe(5);
  for (let n = 0; n < 32; n++) times.add('one', 2);
  expect(times.median('one')).toBe(2);
  for (let n = 0; n < 300; n++) for (let run = 0; run < 8; run++) times.add(`name ${n}`, 1);
  expect([times.median('name 198'), times.median('name 199')]).toEqual([1, undefined]);
});
