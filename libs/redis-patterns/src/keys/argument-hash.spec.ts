import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { hashArguments } from './argument-hash.js';
import { InvalidKeyError } from './keys.errors.js';

class PageQuery {
  page?: number;
}
class Money {
  constructor(
    readonly amount: number,
    readonly currency: string,
  ) {}
}
class Sealed {
  #secret: number;
  constructor(secret: number) {
    this.#secret = secret;
  }
  get secret(): number {
    return this.#secret;
  }
}

describe('hashArguments', () => {
  it('tells every value apart that a method could answer differently', () => {
    const distinct: unknown[][] = [
      [],
      [undefined],
      [null],
      ['undefined'],
      ['null'],
      [42],
      ['42'],
      [42n],
      ['42n'],
      [NaN],
      ['NaN'],
      [0],
      [-0],
      [Infinity],
      [true],
      ['true'],
      [''],
      [[]],
      [{}],
      [[undefined]],
      // oxlint-disable-next-line no-sparse-arrays
      [[,]],
      [{ a: undefined }],
      [{ a: 1, b: 2 }],
      [[1, 2]],
      [1, 2],
      [[1], 2],
      ['1,2'],
      [new Date(0)],
      [new Date(NaN)],
      [new Date(0).toISOString()],
      [0, 0],
      [new Map([['a', 1]])],
      [new Map<unknown, unknown>([['a', '1']])],
      [{ a: 1 }],
      [new Set([1, 2])],
      [new Set(['1', '2'])],
      [Buffer.from('ab')],
      [new Uint8Array(Buffer.from('ab'))],
      ['ab'],
      [new Uint16Array([1])],
      [new ArrayBuffer(2)],
      ['\ud800'],
      ['\udc00'],
      ['\ufffd'],
      [new Money(1, 'EUR')],
      [{ amount: 1, currency: 'EUR' }],
      [new PageQuery()],
      [new URL('http://a/1')],
      [new URL('http://a/2')],
    ];
    expect(new Set(distinct.map((args) => hashArguments(args))).size).toBe(distinct.length);
  });

  it('does not depend on the order of object keys, Map entries and Set members', () => {
    expect(hashArguments([{ a: 1, b: { c: 2, d: 3 } }])).toBe(hashArguments([{ b: { d: 3, c: 2 }, a: 1 }]));
    expect(hashArguments([new Set([1, 2])])).toBe(hashArguments([new Set([2, 1])]));
  });

  it('gives the same hash in every process and release', () => {
    expect(hashArguments([42, { page: 1, tags: ['a'] }])).toBe('C0CZJPZ_FcA1WL4WW8mLAf');
  });

  it('accepts one object in two places, which is no cycle', () => {
    const shared = { a: 1 };
    expect(hashArguments([shared, [shared, shared]])).toBe(hashArguments([{ a: 1 }, [{ a: 1 }, { a: 1 }]]));
  });

  const cycle: Record<string, unknown> = { name: 'x' };
  cycle.self = [cycle];
  it.each<[string, unknown, RegExp]>([
    ['a function', { done: () => 1 }, /^argument 1\.done is a function/],
    ['a symbol', [Symbol('x')], /^argument 1\[0\] is a symbol/],
    ['an abort signal', new AbortController().signal, /^argument 1 is an AbortSignal/],
    ['a Node stream', process.stdout, /^argument 1 is a stream/],
    ['a web stream', new ReadableStream(), /^argument 1 is a stream/],
    ['a fetch request', new Request('http://x'), /^argument 1 is a request or response/],
    ['a fetch response', new Response('x'), /^argument 1 is a request or response/],
    ['a promise', Promise.resolve(1), /^argument 1 is a promise/],
    ['an error', new TypeError('x'), /^argument 1 is an error/],
    ['a cycle', cycle, /^argument 1\.self\[0\] is a reference to an object that contains it/],
    ['hidden state', new Sealed(1), /^argument 1 is an instance of Sealed, whose state is not visible/],
    ['search parameters', new URLSearchParams('a=1'), /whose state is not visible/],
    ['a weak map', new WeakMap(), /whose state is not visible/],
    ['symbol keys', { [Symbol('x')]: 1 }, /^argument 1 is an object with symbol keys/],
  ])('refuses %s, naming the argument and the remedy', (_, argument, message) => {
    expect(() => hashArguments(['ok', argument])).toThrow(message);
    expect(() => hashArguments(['ok', argument])).toThrow(/give `key`/);
    expect(() => hashArguments(['ok', argument])).toThrow(InvalidKeyError);
  });

  it('refuses hostile nesting instead of overflowing the stack', () => {
    const deep: unknown = JSON.parse('['.repeat(20_000) + ']'.repeat(20_000));
    expect(() => hashArguments([deep])).toThrow(/nested deeper than 200 levels/);
  });

  it('is equal exactly for deeply equal arguments', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
    });
    // Small values collide often enough to test equality too.
    const small = fc.anything({
      maxDepth: 1,
      maxKeys: 2,
      key: fc.constantFrom('a', 'b'),
      values: [fc.constantFrom(0, -0, '0', 0n, null)],
    });
    for (const arbitrary of [anything, small]) {
      fc.assert(
        fc.property(fc.array(arbitrary, { maxLength: 2 }), fc.array(arbitrary, { maxLength: 2 }), (a, b) => {
          expect(hashArguments(a) === hashArguments(b)).toBe(isDeepStrictEqual(a, b));
          expect(hashArguments(structuredClone(a))).toBe(hashArguments(a));
        }),
        { numRuns: 1_000 },
      );
    }
  });
});
