import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { KeyBuilder } from '../../../keys/index.js';
import { isNotModified } from './etag.js';
import type { HttpRequest } from '../../../nest/http/exchange.js';
import { ResponseKeys } from './response-key.js';

const OPTIONS = {
  scope: 'public',
  query: ['a', 'b'],
  headers: ['x'],
  shareAuthenticated: false,
  tagsOf: undefined,
  entry: {},
} as const;
const keys = new ResponseKeys('Things.find', false, { ...OPTIONS, params: undefined });

interface Inputs {
  scope: string | undefined;
  params: Record<string, string>;
  query: Record<string, string | string[] | undefined>;
  header: string | undefined;
}

function keyOf({ scope, params, query, header }: Inputs): string {
  const request = { method: 'GET', headers: { x: header }, params, query, route: { path: '/things/:id' } };
  return keys.keyOf(request as HttpRequest, scope);
}

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', ':', '=', '%', 'a', 'q.a=1', ':public', '%v', '%z', '\ud800'),
);
const inputs: fc.Arbitrary<Inputs> = fc.record({
  scope: fc.option(text, { nil: undefined }),
  params: fc.record({ id: text }),
  query: fc.record({
    a: fc.oneof(text, fc.array(text), fc.constant(undefined)),
    b: fc.option(text, { nil: undefined }),
  }),
  header: fc.option(text, { nil: undefined }),
});

describe('keys of responses', () => {
  it('are equal for equal inputs only, and valid keys', () => {
    const builder = new KeyBuilder('shop');
    fc.assert(
      fc.property(inputs, inputs, (one, other) => {
        const [key, another] = [keyOf(one), keyOf(other)];
        expect(key === another).toBe(JSON.stringify(one) === JSON.stringify(other));
        expect(keyOf(structuredClone(one))).toBe(key);
        expect(builder.main('cache', key)).toBe(`shop:cache:${key}`);
      }),
      { numRuns: 5_000 },
    );
  });

  it('do not depend on what is not declared, nor on order', () => {
    const base = { scope: 's', params: { id: '1', z: '2' }, header: undefined };
    const key = keyOf({ ...base, query: { a: '1', b: '2', c: '3' } });
    expect(keyOf({ ...base, params: { z: '2', id: '1' }, query: { c: '4', b: '2', a: '1' } })).toBe(key);
    expect(key).toBe('http:Things.find:/things/%3Aid:s=s:p.id=1:p.z=2:q.a=1:q.b=2:h.x=%v');
  });

  it('tell a public response from the scope of that name, and routes from each other', () => {
    const request = { method: 'GET', headers: {}, query: {}, params: {}, route: { path: '/a' } } as HttpRequest;
    const all = [keys.keyOf(request, undefined), keys.keyOf(request, 'public'), keys.keyOf(request, ':public')];
    all.push(keys.keyOf({ ...request, route: { path: '/b' } }, undefined));
    expect(new Set(all).size).toBe(4);
    expect(keys.keyOf({ ...request, route: undefined as never, routeOptions: { url: '/a' } }, undefined)).toBe(all[0]);
  });
});

describe('If-None-Match', () => {
  it.each<[string | undefined, string, boolean]>([
    [undefined, '"a"', false],
    ['*', '"a"', true],
    ['*', '', false],
    ['"a"', '"a"', true],
    ['W/"a"', '"a"', true],
    ['"a"', 'W/"a"', true],
    ['"b" , W/"a"', '"a"', true],
    ['"b,a"', '"a"', false],
    ['a', '"a"', false],
    ['', '"a"', false],
  ])('%j matches %j: %j', (header, etag, matches) => {
    expect(isNotModified(header, etag)).toBe(matches);
  });
});
