import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { parseOptions } from '../core/options.js';
import { parseByteSize } from './byte-size.js';
import { ClassTypes } from './class-types.js';
import { addTypes, codecSchema, compressSchema, typesSchema } from './codec.options.js';
import { isAvailable } from './compression.js';

class Order {}
class Invoice {}

const schema = z.strictObject({
  compress: compressSchema.optional(),
  types: typesSchema.optional(),
  codec: codecSchema.optional(),
});
const parse = (raw: object) => parseOptions(schema, raw, 'the spec', 'cache');

describe('options of the codec', () => {
  it('have defaults', () => {
    expect(parse({ compress: {} }).compress).toEqual({ over: 2048, algorithm: 'gzip', maxOutput: 16 * 1024 ** 2 });
    expect(parse({ compress: false }).compress).toBeUndefined();
    expect(parse({}).compress).toBeUndefined();
    expect(parse({ compress: { over: '1.5KB', algorithm: 'brotli', maxOutput: 5e6 } }).compress).toEqual({
      over: 1536,
      algorithm: 'brotli',
      maxOutput: 5e6,
    });
  });

  it('take classes without freezing them', () => {
    const list = [Order, Invoice];
    const { types } = parse({ types: list });
    expect(types).toEqual([Order, Invoice]);
    expect([Order, Order.prototype, list].some((value) => Object.isFrozen(value))).toBe(false);
  });

  it('add classes to those that are known', () => {
    const known = new ClassTypes([Order]);
    addTypes(known, [Order, Invoice], 'CacheService.getOrSet');
    expect([Order, Invoice, Map, 'Order', undefined].map((type) => known.has(type))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    const wrong = [Order, Map] as never;
    expect(() => addTypes(known, wrong, 'CacheService.getOrSet')).toThrow(/getOrSet:\n {2}- types\[1\]: is or extends/);
    expect(() => addTypes(known, 'x' as never, 'CacheService.getOrSet')).toThrow(/types: must be a list of classes/);
  });

  it('take a codec as it is, methods included', () => {
    class Upper {
      readonly id = 'upper';
      encode = String;
      decode(text: string): unknown {
        return text;
      }
    }
    const own = new Upper();
    expect(parse({ codec: own }).codec).toBe(own);
  });

  const codec = { id: 'x', encode: String, decode: String };
  it.each<[object, string]>([
    [{ compress: true }, 'cache.compress: must be false, or'],
    [
      { compress: { over: '2 kilo' } },
      'cache.compress.over: is not a size; give bytes as a number >= 0, or a text such as',
    ],
    [{ compress: { over: -1 } }, 'cache.compress.over: is not a size'],
    [{ compress: { maxOutput: 0 } }, 'cache.compress.maxOutput: must be at least 1 bytes, not 0'],
    [{ compress: { algorithm: 'lz4' } }, "cache.compress.algorithm: must be one of 'gzip', 'brotli', 'zstd'"],
    [{ compress: { above: 1 } }, 'cache.compress.above: unknown option; known are over, algorithm, maxOutput'],
    [{ types: Order }, 'cache.types: must be a list of classes'],
    [{ types: [Order, 'Invoice'] }, 'cache.types[1]: must be a class'],
    [{ types: [Order, Date] }, 'cache.types[1]: is or extends the built-in Date'],
    [{ types: [Order, Invoice, Order] }, "cache.types[2]: has the name 'Order' like an earlier one; rename one"],
    [{ codec: 'json' }, 'cache.codec: must be an object with id, encode(value) and decode(text)'],
    [{ codec: { ...codec, decode: undefined } }, 'cache.codec: must be an object with id'],
    [{ codec: { ...codec, id: 'json+' } }, "cache.codec: its id 'json+' is that of a built-in codec; give it another"],
    [{ codec: { ...codec, id: 'a;b\n' } }, 'cache.codec: its id must be 1 to 32 letters'],
  ])('refuse %p', (raw, message) => {
    expect(() => parse(raw)).toThrow(message);
  });

  it('refuse zstd where Node.js has none', () => {
    const parseZstd = () => parse({ compress: { algorithm: 'zstd' } });
    if (isAvailable('zstd')) expect(parseZstd().compress).toMatchObject({ algorithm: 'zstd' });
    else expect(parseZstd).toThrow("cache.compress.algorithm: needs Node.js 22.15 or newer; use 'gzip' or 'brotli'");
  });
});

describe('a size', () => {
  it.each<[unknown, number | undefined]>([
    [0, 0],
    [1.2, 2],
    ['512b', 512],
    ['2kb', 2048],
    ['1.5MB', 1_572_864],
    ['1gb', 1024 ** 3],
    ['2', undefined],
    ['kb', undefined],
    ['-1kb', undefined],
    ['2 kb', undefined],
    [-1, undefined],
    [NaN, undefined],
    [Infinity, undefined],
    [2n, undefined],
    [null, undefined],
    ['9999999999gb', undefined],
  ])('%p is %p bytes', (value, bytes) => expect(parseByteSize(value)).toBe(bytes));
});
