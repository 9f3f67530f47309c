import { describe, expect, it } from '@jest/globals';
import { userIdOf } from './user-id.js';

describe('userIdOf', () => {
  it.each<[object, unknown]>([
    [{ id: 7, sub: 'x' }, 7],
    [{ id: 0 }, 0],
    [{ id: null, sub: 'x', userId: 'y' }, 'x'],
    [{ id: '', userId: 9n }, 9n],
    // Its text would be '[object Object]' for everybody.
    [{ id: {}, userId: 'y' }, 'y'],
    [{ id: Number.NaN }, undefined],
    [{ id: ['a'], sub: {} }, undefined],
    [{}, undefined],
  ])('tells who %o is', (user, id) => {
    expect(userIdOf(user)).toBe(id);
  });
});
