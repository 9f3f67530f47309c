import { expect, it } from '@jest/globals';
import { BoundedLabels } from './bounded-labels.js';

it('tells 500 values of a label apart, and counts all others as one', () => {
  const labels = new BoundedLabels();
  const values = Array.from({ length: 2000 }, (_, index) => labels.of('name', `name-${index}`));
  expect(new Set(values).size).toBe(501);
  expect(labels.of('name', 'name-7')).toBe('name-7');
  expect(labels.of('stream', 'orders')).toBe('orders');
});
