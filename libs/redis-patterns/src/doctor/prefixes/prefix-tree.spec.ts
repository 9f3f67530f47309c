import { describe, expect, it } from '@jest/globals';
import { PrefixTree } from './prefix-tree.js';
import { isWord } from './words.js';

function prefixes(names: readonly string[], namespace?: string): string[] {
  const tree = new PrefixTree(names, namespace);
  return [...new Set(names.map((name) => tree.prefixOf(name)))].toSorted();
}

const times = (count: number, name: (n: number) => string): string[] =>
  Array.from({ length: count }, (_, n) => name(n));

describe('isWord', () => {
  it.each(['product', 'orderItems', 'v2', 'lock~queue', 'order-items', 'cache_v3', 'connect.sid'])(
    'takes %s',
    (part) => {
      expect(isWord(part)).toBe(true);
    },
  );

  it.each([
    '42',
    'user1234',
    'anna@example.com',
    '8e03978e-40d5-43e8-bc93-6894a57f9324',
    'deadbeef01',
    'a1b2c3d4e5f6',
    'kB9xQ2mZpL7w',
    'a b',
    'ä',
    '',
    'x'.repeat(50),
    'abcdefghijklmnopqrstuvwxyzabcd',
  ])('refuses %s', (part) => {
    expect(isWord(part)).toBe(false);
  });
});

describe('a tree of prefixes', () => {
  it('tells words that keys share, and no last part', () => {
    expect(prefixes([...times(3, (n) => `shop:cache:product:${n}`), 'report:big', 'single'])).toEqual([
      '*',
      'report:*',
      'shop:cache:product:*',
    ]);
  });

  it('tells no part that few keys share', () => {
    expect(prefixes(['user:anna:cart', 'user:anna:profile'])).toEqual(['user:*']);
  });

  it('takes many siblings for ids', () => {
    expect(
      prefixes(times(70, (n) => `${String.fromCharCode(97 + (n % 26))}${'xyz'[Math.floor(n / 26)]}:cart:${n}`)),
    ).toEqual(['*']);
  });

  it('takes siblings with the same words behind them for names of one kind', () => {
    const people = ['anna', 'bob', 'carla', 'dan'];
    expect(prefixes(people.flatMap((name) => times(3, (n) => `user:${name}:cart:${n}`)))).toEqual(['user:*']);
  });

  it('keeps patterns of the library apart, and tells nothing of what a companion belongs to', () => {
    const names = ['cache', 'lock', 'ratelimit'].flatMap((pattern) => times(3, (n) => `shop:${pattern}:order:${n}`));
    expect(prefixes([...names, 'shop:lock~queue:{shop:lock:order:anna}'])).toEqual([
      'shop:cache:order:*',
      'shop:lock:order:*',
      'shop:lock~queue:*',
      'shop:ratelimit:order:*',
    ]);
  });

  it('tells names of streams of the own namespace, and a namespace that looks like an id', () => {
    expect(prefixes(['t1234567890:stream:orders', 'other:stream:orders'], 't1234567890')).toEqual([
      'other:stream:*',
      't1234567890:stream:orders',
    ]);
  });

  it('stays small whatever the names are', () => {
    const names = times(
      20_000,
      (n) =>
        ['a', 'b', 'c'].map((part) => part + String.fromCharCode(97 + (n % 23), 97 + (n % 19))).join(':') + `:${n}`,
    );
    expect(prefixes(names).length).toBeLessThan(2000);
  });
});
