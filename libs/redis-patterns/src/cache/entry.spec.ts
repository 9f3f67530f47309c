import { describe, expect, it } from '@jest/globals';
import { unpack, ValueCodec } from '../codec/index.js';
import { decodeContent, encodeContent, formatEntry, isUsable, parseEntry } from './entry.js';

const values = new ValueCodec();
const fields = { id: 'abc', version: '12', loadMs: 34, schema: 5, staleMs: 0, tags: '' };

describe('the text of an entry', () => {
  it('is one readable header line and the payload', () => {
    expect(formatEntry(encodeContent({ a: 1 }, values), fields)).toBe(
      '~1;v=12;i=abc;w=0;d=34;s=5;c=json;z=;k=;g=\n{"a":1}',
    );
    expect(formatEntry(encodeContent(null, values), { ...fields, version: '' })).toBe(
      '~1;v=;i=abc;w=0;d=34;s=5;c=json;z=;k=n;g=\n',
    );
  });

  it.each([[null], [undefined], ['line\nline'], [new Date(0)], [{ a: [1n] }]])('is read back: %p', (value) => {
    const entry = parseEntry(formatEntry(encodeContent(value, values), fields) as string, values);
    expect(entry).toMatchObject({ id: 'abc', schema: 5, staleMs: 0 });
    expect(decodeContent(entry!.content)).toEqual(value);
  });

  it('says how its payload is compressed', async () => {
    const settings = { over: 10, algorithm: 'gzip', maxOutput: 1e6 } as const;
    for (const size of [1_000, 100_000]) {
      const text = await formatEntry(encodeContent('x'.repeat(size), values), fields, settings);
      const { compression, content } = parseEntry(text, values)!;
      expect(compression).toBe(`gzip:${size + 2}`);
      expect(await unpack({ compression, payload: content.payload })).toBe(JSON.stringify('x'.repeat(size)));
    }
  });

  it.each(['', 'x', '~1', '~2;v=;i=a;w=0;d=0;s=0;c=json;z=;k=;g=\n1', '~1;v=;i=a;w=x;d=0;s=0;c=json;z=;k=;g=\n1'])(
    'is not mistaken for one: %p',
    (text) => expect(parseEntry(text, values)).toBeUndefined(),
  );

  it('can only be used with the same schema', () => {
    const usable = (header: string) => isUsable(parseEntry(`${header}\n1`, values)!, 5);
    expect(usable('~1;v=;i=a;w=0;d=0;s=5;c=json;z=;k=;g=')).toBe(true);
    expect(usable('~1;v=;i=a;w=0;d=0;s=4;c=json;z=;k=;g=')).toBe(false);
  });
});
