import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CodecError } from './codec.errors.js';
import { codecById, decodeValue, encodeCompact, encodeValue, jsonCodec, typedJsonCodec } from './typed-json.js';

class Order {
  id = 1;
}
class Timestamp extends Date {}

/** Everything that `util.inspect` can see; jest's equality ignores types in a few places and trips over `constructor`. */
function shown(value: unknown): string {
  return inspect(value, { depth: Infinity, maxArrayLength: null, maxStringLength: null, breakLength: Infinity });
}

function roundTrip(value: unknown): unknown {
  return decodeValue(encodeValue(value));
}

function errorOf(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('typed JSON', () => {
  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['an empty text', ''],
    ['a text that looks like a date', '2026-11-30T12:00:00.000Z'],
    ['a text that looks like a mark', '{"$":"date","v":"2026-11-30T12:00:00.000Z"}'],
    ['a lone surrogate', '\ud800'],
    ['NaN', NaN],
    ['minus zero', -0],
    ['infinities', [Infinity, -Infinity]],
    ['a big integer', -(2n ** 80n)],
    ['a date', new Date(1_764_500_000_123)],
    ['an invalid date', new Date(NaN)],
    ['dates beyond the year 9999', new Date(8.64e15)],
    [
      'a map with keys of several types',
      new Map<unknown, unknown>([
        [1, 'a'],
        ['1', new Map()],
        [{ k: 1n }, undefined],
      ]),
    ],
    ['a set of objects', new Set([{ a: new Set() }, 'x', undefined])],
    ['a buffer', Buffer.from([0, 255, 36])],
    ['plain bytes', new Uint8Array([0, 255])],
    ['a part of a bigger buffer', Buffer.from('abcdef').subarray(2, 4)],
    ['a property that is undefined', { a: undefined, b: 1 }],
    ['keys that begin with $', { $: 'date', v: 1, $a: 1, $$: { $$b: [{ $: 1 }] }, a$: 2, n: 1n }],
    ['a user object that looks like a mark', { $: 'date', v: '2026-11-30T12:00:00.000Z' }],
    ['keys of Object.prototype', { constructor: 1, toString: 2, hasOwnProperty: 3n, toJSON: 4 }],
    ['the same object in two places', [[{ a: 1n }], [{ a: 1n }]]],
  ])('keeps %s', (_, value) => {
    expect(shown(roundTrip(value))).toBe(shown(value));
  });

  it('keeps whatever it accepts', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      // '__proto__' is refused, as another test says.
      key: fc
        .oneof(fc.string(), fc.constantFrom('$', '$$', '$v', 'v', 'constructor', 'toJSON', ''))
        .filter((key) => key !== '__proto__'),
    });
    fc.assert(
      fc.property(fc.oneof(anything, fc.uint8Array()), (value) => {
        expect(shown(roundTrip(value))).toBe(shown(value));
        const { codec, text } = encodeCompact(value);
        expect(shown(codecById(codec)!.decode(text))).toBe(shown(value));
        expect(shown(decodeValue(text))).toBe(shown(value));
      }),
      { numRuns: 3_000 },
    );
  });

  it('gives every reader a private copy', () => {
    const text = encodeValue({ list: [1], map: new Map([['a', { b: 1 }]]) });
    expect(decodeValue(text)).not.toBe(decodeValue(text));
    (decodeValue(text) as { list: number[] }).list.push(2);
    expect(decodeValue(text)).toStrictEqual({ list: [1], map: new Map([['a', { b: 1 }]]) });
  });

  it('does not change the value it encodes', () => {
    const value = Object.freeze({ $a: Object.freeze([1n, Object.freeze({ at: new Date(0) })]) });
    encodeValue(value);
    expect(value).toStrictEqual({ $a: [1n, { at: new Date(0) }] });
  });

  it('writes readable text: plain JSON where it suffices, marks where not', () => {
    expect(encodeValue({ id: 1, tags: ['a'] })).toBe('{"id":1,"tags":["a"]}');
    expect(encodeValue({ at: new Date(0) })).toBe('{"at":{"$":"date","v":"1970-01-01T00:00:00.000Z"}}');
  });

  // Entries and streams that an earlier release wrote hold these texts.
  it.each<[string, unknown]>([
    ['{"$":"undefined"}', undefined],
    ['[{"$":"number","v":"NaN"},{"$":"number","v":"-0"},{"$":"number","v":"-Infinity"}]', [NaN, -0, -Infinity]],
    ['{"$":"bigint","v":"-12"}', -12n],
    ['{"$":"date","v":"1970-01-01T00:00:00.005Z"}', new Date(5)],
    ['{"$":"date","v":null}', new Date(NaN)],
    ['{"$":"map","v":[["a",{"b":{"$":"undefined"}}]]}', new Map([['a', { b: undefined }]])],
    ['{"$":"set","v":[1,{"$":"bigint","v":"2"}]}', new Set([1, 2n])],
    ['{"$":"buffer","v":"AP8="}', Buffer.from([0, 255])],
    ['{"$":"bytes","v":"AP8="}', new Uint8Array([0, 255])],
    ['{"$$":"date","$$v":1,"a":{"$":"undefined"}}', { $: 'date', $v: 1, a: undefined }],
  ])('writes and reads %s, for good', (text, value) => {
    expect(encodeValue(value)).toBe(text);
    expect(shown(decodeValue(text))).toBe(shown(value));
  });

  it('accepts objects whose prototype is empty, as parsers of queries make them', () => {
    function Empty(): void {}
    Empty.prototype = Object.create(null) as object;
    const query = Object.assign(Object.create(Empty.prototype as object) as object, { page: '2' });
    expect(encodeValue(query)).toBe('{"page":"2"}');
  });

  it('accepts plain objects and dates of another realm', () => {
    const foreign: unknown = runInNewContext('({ list: [1, { at: new Date(0) }], set: new Set([1n]) })');
    expect(roundTrip(foreign)).toStrictEqual({ list: [1, { at: new Date(0) }], set: new Set([1n]) });
  });

  it('reads an object without prototype back as an ordinary one', () => {
    expect(roundTrip(Object.assign(Object.create(null) as object, { a: 1 }))).toStrictEqual({ a: 1 });
  });

  const cycle: { list: unknown[] } = { list: [1] };
  cycle.list.push(new Map([['back', cycle]]));
  const deep: unknown = JSON.parse('['.repeat(20_000) + ']'.repeat(20_000));
  it.each<[string, unknown, string]>([
    ['a class instance', { items: [1, new Order()] }, 'value.items[1]'],
    ['a subclass of a built-in', { 'sent at': new Timestamp() }, 'value["sent at"]'],
    ['an error', [new Error('x')], 'value[0]'],
    ['a regular expression', { a: /x/ }, 'value.a'],
    ['a boxed number', [Object(1)], 'value[0]'],
    ['another typed array', new Uint16Array(1), 'value'],
    ['an array buffer', { b: new ArrayBuffer(1) }, 'value.b'],
    ['a function', { a: { done: () => 1 } }, 'value.a.done'],
    ['a toJSON method, which would replace the value', { a: { toJSON: () => 1 } }, 'value.a.toJSON'],
    ['a symbol', [[Symbol('x')]], 'value[0][0]'],
    ['a symbol key', { a: { [Symbol('x')]: 1 } }, 'value.a'],
    // oxlint-disable-next-line no-sparse-arrays
    ['a hole', { a: [1, , 2] }, 'value.a[1]'],
    ['a cycle', cycle, 'value.list[1][0][1]'],
    ['a __proto__ key', { a: JSON.parse('{"__proto__":{"x":1}}') as unknown }, 'value.a'],
    ['inherited properties', [Object.create({ a: 1 })], 'value[0]'],
    ['a promise', { p: Promise.resolve() }, 'value.p'],
    ['nesting beyond 500 levels', deep, `value${'[0]'.repeat(500)}`],
  ])('refuses %s and names its place', (_, value, path) => {
    for (const encode of [encodeValue, encodeCompact, (x: unknown) => jsonCodec.encode(x)]) {
      expect(() => encode(value)).toThrow(CodecError);
      expect(errorOf(() => encode(value))).toMatchObject({ code: 'ERR_CODEC', path });
      expect(() => encode(value)).toThrow(`cannot encode ${path}: `);
    }
  });

  it.each([
    '',
    '{"a":',
    'undefined',
    '{"$":"date","v":"garbage"}',
    '{"$":"date"}',
    '{"$":"bigint","v":"0x10"}',
    '{"$":"bigint","v":1}',
    '{"$":"number","v":"12"}',
    '{"$":"buffer","v":[1]}',
    '{"$":"map","v":[["a"]]}',
    '{"$":"set","v":{}}',
    '{"$":"class:Order","v":{}}',
    '[{"$":1}]',
  ])('refuses to decode %j', (text) => {
    expect(() => decodeValue(text)).toThrow(CodecError);
  });

  it('does not quote stored text in its errors', () => {
    expect(() => decodeValue('secret-token')).not.toThrow(/secret/);
  });

  it.each([
    '{"__proto__":{"polluted":true}}',
    '{"a":[{"__proto__":{"polluted":true}}]}',
    '{"\\u005f_proto__":{"polluted":true}}',
    '{"__\\u0070roto__":{"polluted":true},"d":{"$":"date","v":null}}',
    '{"$":"map","v":[["a",{"__proto__":{"polluted":true}}]]}',
  ])('refuses %s, so that no text reaches a prototype', (text) => {
    for (const codec of [jsonCodec, typedJsonCodec]) expect(() => codec.decode(text)).toThrow(CodecError);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('decodes text with a key that only unescaping would turn into __proto__', () => {
    const value = decodeValue('{"$$__proto__":{"polluted":true}}') as object;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value)).toEqual(['$__proto__']);
  });

  it('refuses text nested deeper than the stack instead of crashing', () => {
    const text = `[${'['.repeat(200_000)}{"$":"date","v":null}${']'.repeat(200_000)}]`;
    expect(() => decodeValue(text)).toThrow(CodecError);
  });

  it('knows its codecs by id, and no others', () => {
    expect(codecById('json')).toBe(jsonCodec);
    expect(codecById('json+')).toBe(typedJsonCodec);
    expect(codecById('constructor')).toBeUndefined();
    expect(encodeCompact({ a: 1 }).codec).toBe('json');
    expect(encodeCompact({ a: 1n }).codec).toBe('json+');
    expect(() => jsonCodec.encode({ a: 1n })).toThrow(/use the codec 'json\+'/);
  });
});
