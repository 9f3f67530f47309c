import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { hostileText, keyParts } from '../../../../test/support/hostile-text.js';
import { KeyBuilder, type Key } from './key-builder.js';
import { InvalidKeyError } from './keys.errors.js';
import { slotOf } from './slot.js';

const keys = new KeyBuilder('shop');

describe('KeyBuilder', () => {
  it('builds the keys of the data layout', () => {
    expect(keys.prefix('cache')).toBe('shop:cache:');
    expect(keys.main('cache', 'product:42')).toBe('shop:cache:product:42');
    expect(keys.main('cache', ['product', 42])).toBe('shop:cache:product:42');
    expect(keys.main('stream', '{eu}:orders')).toBe('shop:stream:{eu}:orders');
    expect(keys.tagged('ratelimit', 'api', 'user:123')).toBe('shop:ratelimit:api:{user:123}');
    expect(keys.family('unique', 'visitors', '2026-11-30')).toBe('shop:unique:{visitors}:2026-11-30');
  });

  it('puts an untagged main key of a companion in braces, and leaves a tagged one as it is', () => {
    expect(keys.companion('lock', 'queue', keys.main('lock', 'order:7'))).toBe('shop:lock~queue:{shop:lock:order:7}');
    expect(keys.companion('stream', 'retry', 'shop:stream:orders', 'billing')).toBe(
      'shop:stream~retry:{shop:stream:orders}:billing',
    );
    expect(keys.companion('stream', 'retry', 'shop:stream:{eu}:orders', 'billing')).toBe(
      'shop:stream~retry:shop:stream:{eu}:orders:billing',
    );
    expect(keys.companion('ratelimit', 'block', keys.tagged('ratelimit', 'api', 'user:1'))).toBe(
      'shop:ratelimit~block:shop:ratelimit:api:{user:1}',
    );
  });

  it('refuses a companion of a key that is not of this namespace', () => {
    expect(() => keys.companion('lock', 'queue', 'order:7')).toThrow(InvalidKeyError);
  });

  it.each(['', 'a b', 'a:b', 'shop{', 'ä', 'x'.repeat(65)])('refuses the namespace %j', (namespace) => {
    expect(() => new KeyBuilder(namespace)).toThrow(InvalidKeyError);
  });

  it.each(['}{', '{}', 'a{b', 'a}b', '{a}{b}', '{{a}}', '{a}b}', 'a{}', '\ud800'])(
    'refuses the text key %j, whose slot would not be clear',
    (key) => {
      expect(() => keys.main('cache', key)).toThrow(InvalidKeyError);
    },
  );

  it.each<[string, unknown]>([
    ['an empty text', ''],
    ['an empty array', []],
    ['undefined', undefined],
    ['null', null],
    ['a number', 42],
    ['a plain object', { id: 1 }],
    ['an array without a resource', ['', 1]],
    ['an array whose resource is no text', [undefined, 1]],
  ])('refuses %s as a whole key and names the remedy', (_, key) => {
    expect(() => keys.main('cache', key as Key)).toThrow(/give a non-empty text such as/);
  });

  it('names the part that has no stable text', () => {
    expect(() => keys.main('cache', ['product', 1, NaN])).toThrow(/^part 2 of the key is NaN/);
    expect(() => keys.main('cache', ['product', { filter: () => 1 }])).toThrow(
      /^part 1 of the key\.filter is a function/,
    );
  });

  it('never puts the text of a key into an error', () => {
    expect(() => keys.main('session', 'secret-id{')).not.toThrow(/secret-id/);
  });
});

describe('keys of hostile parts', () => {
  it('differ whenever the parts differ in text', () => {
    fc.assert(
      fc.property(keyParts, keyParts, (a, b) => {
        const equal = a.length === b.length && a.every((part, index) => part === b[index]);
        expect(keys.main('cache', a) === keys.main('cache', b)).toBe(equal);
      }),
      { numRuns: 2_000 },
    );
  });

  it('differ when one part is split into two, or two are joined, at any place', () => {
    fc.assert(
      fc.property(hostileText, fc.nat(), (text, at) => {
        const cut = at % (text.length + 1);
        const parts = [text.slice(0, cut), text.slice(cut)] as const;
        expect(keys.main('cache', ['r', ...parts])).not.toBe(keys.main('cache', ['r', text]));
        expect(keys.main('cache', ['r', ...parts])).not.toBe(keys.main('cache', ['r', parts.join(':')]));
      }),
    );
  });

  it('have one level per part and hold no tag, glob, blank or control character', () => {
    fc.assert(
      fc.property(keyParts, (parts) => {
        const key = keys.main('cache', parts);
        expect(key.split(':')).toHaveLength(parts.length + 2);
        expect(key).not.toMatch(/[{}*?[\]\\\s\p{Cc}\p{Cs}]/u);
        expect(Buffer.from(key).toString()).toBe(key);
        expect(key.split(':').every((level) => level !== '' && Buffer.byteLength(level) <= 128)).toBe(true);
      }),
    );
  });

  it('share their slot with their companions', () => {
    fc.assert(
      fc.property(keyParts, hostileText, (parts, extra) => {
        const main = keys.main('stream', parts);
        expect(slotOf(keys.companion('stream', 'retry', main, extra))).toBe(slotOf(main));
        const tagged = keys.tagged('ratelimit', 'api', extra);
        expect(slotOf(keys.companion('ratelimit', 'block', tagged))).toBe(slotOf(tagged));
        expect(slotOf(keys.tagged('ratelimit', 'daily', extra))).toBe(slotOf(tagged));
        const family = keys.family('unique', extra, ...parts);
        expect(slotOf(family)).toBe(slotOf(keys.family('unique', extra, 'other')));
        expect(slotOf(keys.companion('unique', 'hll', family))).toBe(slotOf(family));
      }),
    );
  });

  it('keep the companions of different main keys apart', () => {
    fc.assert(
      fc.property(keyParts, keyParts, hostileText, hostileText, (a, b, p, q) => {
        const [left, right] = [keys.main('stream', a), keys.main('stream', b)];
        const same = left === right && p === q;
        expect(keys.companion('stream', 'r', left, p) === keys.companion('stream', 'r', right, q)).toBe(same);
      }),
    );
  });

  it('keep subjects apart and inside their tag', () => {
    fc.assert(
      fc.property(hostileText, hostileText, (a, b) => {
        expect(keys.tagged('ratelimit', 'api', a) === keys.tagged('ratelimit', 'api', b)).toBe(a === b);
        expect(keys.tagged('ratelimit', 'api', a)).toMatch(/^shop:ratelimit:api:\{[^{}]+\}$/);
      }),
    );
  });
});
