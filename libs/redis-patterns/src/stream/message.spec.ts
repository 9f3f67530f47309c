import { describe, expect, it } from '@jest/globals';
import { decodeHeaders, readFields, readNotes, readReply, toFields } from './message.js';

const MESSAGE = { type: 'placed', data: '{"a":1}', messageId: 'm1', key: '7', headers: { tenant: 'ü' } };

describe('entries', () => {
  it('have all fields, always in the same order', () => {
    expect(toFields(MESSAGE).filter((_, index) => index % 2 === 0)).toEqual(['type', 'data', 'mid', 'key', 'headers']);
    const bare = toFields({ ...MESSAGE, type: undefined, key: undefined, headers: undefined });
    expect(bare).toEqual(['type', '', 'data', '{"a":1}', 'mid', 'm1', 'key', '', 'headers', '']);
    expect(readFields(bare)).toEqual({
      type: undefined,
      data: '{"a":1}',
      messageId: 'm1',
      key: undefined,
      headers: '',
    });
  });

  it('are read whatever wrote them, in any order and with more fields', () => {
    const fields = toFields(MESSAGE);
    const wanted = { type: 'placed', data: '{"a":1}', messageId: 'm1', key: '7', headers: '{"tenant":"ü"}' };
    expect(readFields(fields)).toEqual(wanted);
    expect(readFields(['x', 'y', ...fields.slice(2), ...fields.slice(0, 2)])).toEqual(wanted);
    expect(readFields(['foreign', '1'])).toMatchObject({ type: undefined, data: undefined, headers: '' });
  });

  it('have headers without a prototype, and refuse what is no object', () => {
    const headers = decodeHeaders('{"toString":"x"}');
    expect([headers.toString, Object.getPrototypeOf(headers), headers.valueOf]).toEqual(['x', null, undefined]);
    expect(decodeHeaders('').anything).toBeUndefined();
    expect(() => decodeHeaders('7')).toThrow('holds no object');
  });

  it('of the retry plane carry what is known of earlier attempts', () => {
    const notes = ['x-original-id', '1-1', 'x-attempt', '2', 'x-deliveries', '3'];
    expect(readNotes([...toFields(MESSAGE), ...notes], '9-9')).toEqual({
      originalId: '1-1',
      attempt: 2,
      deliveries: 3,
    });
    expect(readNotes(toFields(MESSAGE), '9-9')).toEqual({ originalId: '9-9', attempt: 0, deliveries: 0 });
  });

  it('are found in replies of both shapes; what was trimmed meanwhile is left out', () => {
    const wanted = [['s', [{ id: '1-0', fields: ['a', 'b'] }]]];
    expect(
      readReply([
        [
          's',
          [
            ['1-0', ['a', 'b']],
            ['2-0', null],
          ],
        ],
      ]),
    ).toEqual(wanted);
    expect(readReply({ s: [['1-0', { a: 'b' }]] })).toEqual(wanted);
    expect(readReply(null)).toEqual([]);
  });
});
