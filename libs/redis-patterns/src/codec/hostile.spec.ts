import { types as kinds } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ClassTypes } from './class-types.js';
import { CodecError } from './codec.errors.js';
import { jsonCodec } from './typed-json.js';
import { ValueCodec } from './value-codec.js';

class Order {
  id = 1;
}

const codec = new ValueCodec(new ClassTypes([Order]));
const PROTOTYPES = [Object, Array, Date, Map, Set, Buffer, Uint8Array, Order].map(
  ({ prototype }) => prototype as object,
);
const pristine = PROTOTYPES.map((prototype) => Reflect.ownKeys(prototype).length);

// Every letter of a key may be escaped in JSON, and a key may stand twice in an object.
const key = fc
  .oneof(
    fc.constantFrom(
      '__proto__',
      'constructor',
      'prototype',
      '$',
      '$$',
      'v',
      '$__proto__',
      '$$__proto__',
      'toJSON',
      'id',
    ),
    fc.string({ maxLength: 3 }),
  )
  .chain((name) => fc.nat(name.length).map((at) => quoted(name, at)));
const mark = fc
  .constantFrom('date', 'map', 'set', 'bigint', 'buffer', 'bytes', 'number', 'undefined', 'x', '__proto__')
  .chain((name) => fc.constantFrom(name, `class:${name}`, 'class:Order', 'class:Object', 'class:'))
  .map((name) => JSON.stringify(name));
const json = fc.letrec<{ text: string; object: string }>((tie) => ({
  text: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom('1', 'null', '"x"', '"NaN"', '"12"', '"2026-11-30T00:00:00.000Z"', '{}', '[]'),
    tie('object'),
    fc.array(tie('text'), { maxLength: 3 }).map((items) => `[${items.join()}]`),
    fc.tuple(mark, tie('text')).map(([name, v]) => `{"$":${name},"v":${v}}`),
    fc.tuple(tie('text'), tie('text')).map(([k, v]) => `{"$":"map","v":[[${k},${v}]]}`),
    fc.tuple(tie('object')).map(([v]) => `{"$":"class:Order","v":${v}}`),
  ),
  object: fc
    .array(fc.tuple(key, tie('text')), { maxLength: 3 })
    .map((pairs) => `{${pairs.map((p) => p.join(':')).join()}}`),
})).text;

/** A JSON string in which the character at that place is escaped, as JSON.stringify would never do. */
function quoted(name: string, at: number): string {
  const escape = (text: string) => JSON.stringify(text).slice(1, -1);
  const code = name.charCodeAt(at);
  const middle = Number.isNaN(code) ? '' : `\\u${code.toString(16).padStart(4, '0')}`;
  return `"${escape(name.slice(0, at))}${middle}${escape(name.slice(at + 1))}"`;
}

function causeOf(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    return (error as Error).cause;
  }
}

/** Every object in a decoded value has one of the known prototypes, and none of them has `__proto__` as its own key. */
function expectHarmless(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  expect(PROTOTYPES).toContain(Object.getPrototypeOf(value));
  expect(Object.hasOwn(value, '__proto__')).toBe(false);
  if (kinds.isMap(value)) for (const entry of value) entry.forEach(expectHarmless);
  else if (kinds.isSet(value)) value.forEach(expectHarmless);
  else Object.values(value).forEach(expectHarmless);
}

describe('text that somebody else wrote', () => {
  it('is refused or becomes a harmless value, and never touches a prototype', () => {
    const outcomes = { read: 0, refused: 0 };
    fc.assert(
      fc.property(json, (text) => {
        for (const id of ['json', 'json+']) {
          try {
            expectHarmless(codec.decode(id, text));
            outcomes.read++;
          } catch (error) {
            if (!(error instanceof CodecError)) throw error;
            outcomes.refused++;
          }
        }
        expect(PROTOTYPES.map((prototype) => Reflect.ownKeys(prototype).length)).toEqual(pristine);
      }),
      { numRuns: 5_000 },
    );
    // The texts were neither all nonsense nor all harmless.
    expect(outcomes.read).toBeGreaterThan(500);
    expect(outcomes.refused).toBeGreaterThan(500);
  });

  it('that is no JSON, or is cut anywhere, is refused and not quoted', () => {
    fc.assert(
      fc.property(json, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (text, at) => {
        const cut = `[${text.slice(0, Math.floor(at * text.length))}`;
        expect(() => codec.decode('json+', cut)).toThrow(CodecError);
      }),
    );
    expect(() => codec.decode('json', 'secret-token')).not.toThrow(/secret/);
  });

  it('of an unknown codec is refused', () => {
    for (const id of ['', 'json++', 'constructor', '__proto__', 'upper']) {
      expect(() => codec.decode(id, '1')).toThrow(/not known here/);
    }
  });
});

describe('a codec of the application', () => {
  const upper = {
    id: 'upper',
    encode: (value: unknown) => (value as string).toUpperCase(),
    decode: (text: string) => text,
  };
  const own = new ValueCodec(new ClassTypes([Order]), upper);

  it('writes all values, and what the built-in ones wrote stays readable', () => {
    expect(own.encode('tea')).toEqual({ codec: 'upper', text: 'TEA' });
    expect(own.decode('upper', 'TEA')).toBe('TEA');
    const { codec: id, text } = codec.encode({ order: new Order() });
    expect(own.decode(id, text)).toEqual({ order: new Order() });
    expect(own.decode('json', jsonCodec.encode([1]))).toEqual([1]);
  });

  it('fails with a CodecError that has its error as the cause, or when it gives no text', () => {
    expect(() => own.encode(5)).toThrow(CodecError);
    expect(causeOf(() => own.encode(5))).toBeInstanceOf(TypeError);
    const late = new ValueCodec(undefined, { ...upper, encode: async () => 'text' } as unknown as typeof upper);
    expect(() => late.encode('x')).toThrow(/must return a string/);
    const broken = new ValueCodec(undefined, { ...upper, decode: (text) => JSON.parse(text) as unknown });
    expect(() => broken.decode('upper', 'secret')).toThrow(CodecError);
    expect(() => broken.decode('upper', 'secret')).not.toThrow(/secret/);
  });
});
