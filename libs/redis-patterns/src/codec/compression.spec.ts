import { types as kinds } from 'node:util';
import zlib from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CodecError } from './codec.errors.js';
import { isAvailable, pack, unpack, type CompressionAlgorithm, type CompressionSettings } from './compression.js';

const KIB = 1024;
const settings: CompressionSettings = { over: 2 * KIB, algorithm: 'gzip', maxOutput: 1024 * KIB };
const algorithms = (['gzip', 'brotli', 'zstd'] as const).filter(isAvailable);

const base64 = (bytes: Buffer) => bytes.toString('base64');
const textOf = (size: number) => 'tea pot; '.repeat(Math.ceil(size / 9)).slice(0, size);

async function errorOf(action: () => unknown): Promise<unknown> {
  try {
    return void (await action());
  } catch (error) {
    return error;
  }
}

describe.each(algorithms)('compression with %s', (algorithm: CompressionAlgorithm) => {
  const own = { ...settings, algorithm };

  it('keeps every text', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 300 }),
      fc.tuple(fc.string({ unit: 'grapheme', minLength: 1 }), fc.nat(3_000)).map(([part, n]) => part.repeat(n)),
    );
    await fc.assert(
      fc.asyncProperty(text, async (value) => {
        expect(await unpack(await pack(value, { ...own, over: 0 }))).toBe(value);
      }),
      { numRuns: 300 },
    );
  });

  it('gives back short texts at once and long ones later, and both equal', async () => {
    for (const [size, isLater] of [
      [64 * KIB, false],
      [64 * KIB + 1, true],
    ] as const) {
      const text = textOf(size);
      const packed = pack(text, own);
      expect([size, kinds.isPromise(packed)]).toEqual([size, isLater]);
      const { compression, payload } = await packed;
      expect(compression).toBe(`${algorithm}:${size}`);
      expect(payload).toMatch(/^[\w+/]+=*$/);
      expect(payload.length).toBeLessThan(size / 20);
      const unpacked = unpack({ compression, payload });
      expect(kinds.isPromise(unpacked)).toBe(isLater);
      expect(await unpacked).toBe(text);
    }
  });

  it.each([100, 200 * KIB])('refuses what unpacks to more than it says, %d bytes', async (claimed) => {
    const { payload } = await pack(textOf(1000 * KIB), own);
    const compression = `${algorithm}:${claimed}`;
    expect(await errorOf(() => unpack({ compression, payload }))).toBeInstanceOf(CodecError);
  });

  it('does not even begin to unpack what says it is too long', () => {
    const packed = { compression: `${algorithm}:${2 * KIB + 1}`, payload: 'not looked at' };
    expect(() => unpack(packed, 2 * KIB)).toThrow(/at most 2048 are read/);
  });

  it('refuses damaged texts of either size, cut short, changed, of another algorithm', async () => {
    for (const size of [10 * KIB, 100 * KIB]) {
      const { compression, payload } = await pack(textOf(size), own);
      const cases = {
        empty: { compression, payload: '' },
        'cut short': { compression, payload: payload.slice(0, -8) },
        'another size': { compression: `${algorithm}:${size + 1}`, payload },
        'something else': { compression, payload: 'bm90IGNvbXByZXNzZWQ=' },
        'another algorithm': { compression: `${algorithm === 'gzip' ? 'brotli' : 'gzip'}:${size}`, payload },
      };
      for (const [name, packed] of Object.entries(cases)) {
        expect([name, await errorOf(() => unpack(packed))]).toEqual([name, expect.any(CodecError)]);
      }
    }
  });
});

describe('compression', () => {
  it('leaves short texts as they are, counted in bytes', () => {
    expect(pack(textOf(2 * KIB - 1), settings)).toEqual({ compression: '', payload: textOf(2 * KIB - 1) });
    expect(pack(textOf(2 * KIB), settings)).toMatchObject({ compression: 'gzip:2048' });
    expect(pack('é'.repeat(KIB), settings)).toMatchObject({ compression: 'gzip:2048' });
  });

  it('leaves as they are texts that do not get shorter, and those that nobody could read back', async () => {
    const noise = Buffer.from(Array.from({ length: 3 * KIB }, (_, i) => (i * 7919 * i) % 251)).toString('base64');
    const dense = zlib.gzipSync(noise).toString('base64');
    expect(pack(dense, { ...settings, over: 0 })).toEqual({ compression: '', payload: dense });
    const long = textOf(1024 * KIB + 1);
    expect(await pack(long, settings)).toEqual({ compression: '', payload: long });
    expect(await pack(long.slice(1), settings)).toMatchObject({ compression: `gzip:${1024 * KIB}` });
  });

  it('bounds what a bomb may take, before it is there', async () => {
    const bomb = base64(zlib.gzipSync(Buffer.alloc(64 * KIB * KIB)));
    const before = process.memoryUsage();
    for (const compression of ['gzip:1000', `gzip:${100 * KIB}`, `gzip:${16 * KIB * KIB}`]) {
      expect(await errorOf(() => unpack({ compression, payload: bomb }))).toBeInstanceOf(CodecError);
    }
    const { arrayBuffers } = process.memoryUsage();
    expect(arrayBuffers - before.arrayBuffers).toBeLessThan(48 * KIB * KIB);
  });

  it.each(['gzip', 'gzip:', 'gzip:-1', 'gzip:1e3', 'lz4:100', 'constructor:1', 'GZIP:1', ' gzip:1'])(
    'does not know the compression %j',
    (compression) => expect(() => unpack({ compression, payload: '' })).toThrow(/does not know/),
  );

  it('does not touch what is not compressed', () => {
    expect(unpack({ compression: '', payload: 'plain' }, 1)).toBe('plain');
  });
});
