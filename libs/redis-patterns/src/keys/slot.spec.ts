import { describe, expect, it } from '@jest/globals';
import { slotOf } from './slot.js';

describe('slotOf', () => {
  it('gives the check value of CRC-16/XMODEM', () => {
    expect(slotOf('123456789')).toBe(0x31c3 % 16_384);
  });

  it('hashes only the first non-empty tag', () => {
    expect(slotOf('a{tag}b{other}')).toBe(slotOf('tag'));
    expect(slotOf('foo{{bar}}zap')).toBe(slotOf('{bar'));
  });

  it('hashes the whole key when the first tag is empty, even with a later brace', () => {
    expect(slotOf('foo{}{bar}')).not.toBe(slotOf('bar'));
    expect(slotOf('foo{}{bar}')).toBe(8363); // the value the Redis Cluster specification's rules give
  });

  it('hashes the whole key when a tag is not closed', () => {
    expect(slotOf('{open')).not.toBe(slotOf('open'));
  });

  it('hashes the UTF-8 bytes of text beyond ASCII, inside and outside a tag', () => {
    expect(slotOf('x{ключ-🔑}y')).toBe(slotOf('ключ-🔑'));
    expect(slotOf('é')).not.toBe(slotOf('e'));
  });
});
