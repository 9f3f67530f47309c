import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { escapePart, type KeyPart } from './escape.js';
import { escapeGlob } from './glob.js';
import { hostileText } from '../../../../test/support/hostile-text.js';
import { InvalidKeyError } from './keys.errors.js';

describe('escapePart', () => {
  it.each<[KeyPart, string]>([
    ['plain-Text_1.2~@', 'plain-Text_1.2~@'],
    ['a:b', 'a%3Ab'],
    ['100%', '100%25'],
    ['{x}*?[y]\\ z', '%7Bx%7D%2A%3F%5By%5D%5C%20z'],
    ['\n\u0085', '%0A%C2%85'],
    ['\ud800x', '%uD800x'],
    ['né 🔑', 'né%20🔑'],
    ['', '%z'],
    [null, '%n'],
    [undefined, '%v'],
    [true, 'true'],
    [-0, '0'],
    [new Date(0), '1970-01-01T00%3A00%3A00.000Z'],
  ])('writes %j as %s', (part, expected) => {
    expect(escapePart(part)).toBe(expected);
  });

  it('writes 42, "42" and 42n alike, since their text is equal', () => {
    expect(new Set([42, '42', 42n].map((part) => escapePart(part)))).toEqual(new Set(['42']));
  });

  it('writes whatever has a text like that text, and so differently from all with another one', () => {
    const valued = fc.oneof(fc.double({ noNaN: true }), fc.integer(), fc.bigInt(), fc.boolean());
    fc.assert(
      fc.property(valued, valued, fc.date({ noInvalidDate: true }), (a, b, date) => {
        expect(escapePart(a)).toBe(escapePart(String(a)));
        expect(escapePart(a) === escapePart(b)).toBe(String(a) === String(b));
        expect(escapePart(date)).toBe(escapePart(date.toISOString()));
      }),
      { numRuns: 2_000 },
    );
  });

  it('shortens what is longer than 128 bytes to a hash that depends on all of it', () => {
    const short = escapePart('x'.repeat(128));
    const [long, other] = [escapePart('x'.repeat(129)), escapePart(`${'x'.repeat(129)}y`)];
    expect(short).toBe('x'.repeat(128));
    expect(long).toMatch(/^%s[\w-]{22}$/);
    expect(other).not.toBe(long);
    expect(escapePart('é'.repeat(65))).toMatch(/^%s/); // 65 characters, 130 bytes
    expect(escapePart(10n ** 200n)).toMatch(/^%s/);
  });

  it('writes an object as a hash in which the order of keys does not matter but types do', () => {
    expect(escapePart({ a: 1, b: 2 })).toMatch(/^%h[\w-]{22}$/);
    expect(escapePart({ a: 1, b: 2 })).toBe(escapePart({ b: 2, a: 1 }));
    expect(escapePart({ a: 1 })).not.toBe(escapePart({ a: '1' }));
  });

  it.each<[string, unknown]>([
    ['NaN', NaN],
    ['an invalid date', new Date(NaN)],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
  ])('refuses %s', (_, part) => {
    expect(() => escapePart(part as KeyPart)).toThrow(InvalidKeyError);
  });

  it('gives different results for different texts', () => {
    fc.assert(
      fc.property(hostileText, hostileText, (a, b) => {
        expect(escapePart(a) === escapePart(b)).toBe(a === b);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('escapeGlob', () => {
  it('escapes what a Redis glob gives a meaning', () => {
    expect(escapeGlob('a*b?c[d]e\\f^-')).toBe('a\\*b\\?c\\[d\\]e\\\\f^-');
  });
});
