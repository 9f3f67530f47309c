import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { withReaderDefaults } from './consumer.options.js';
import { resolveConsumerOptions } from './consumer.schema.js';
import { MessageInvalidError, validatorOf } from './message-schema.js';
import { defineStream } from './stream-definition.js';
import { resolveStreamOptions } from './stream.options.js';
import { StreamTransaction } from './transaction.js';

const parse = (more: object) => resolveConsumerOptions({ stream: 's', group: 'g', ...more }, 'Class.method');
const retention = (given: object) =>
  resolveStreamOptions({ streams: { s: { retention: given } } }, 'the spec').streams.s!.retention;

describe('options of streams', () => {
  it('keep by default what no group has finished', () => {
    const defaults = { mode: 'safe', maxLen: 100_000, maxAge: 0, maxBacklog: 1_000_000 };
    expect(retention({})).toEqual(defaults);
    expect(retention({ maxLen: 700_000 })).toMatchObject({ maxBacklog: 1_400_000 });
    expect(retention({ mode: 'hard', maxLen: 5 })).toMatchObject({ mode: 'hard', maxLen: 5 });
  });

  it.each([
    [{ mode: 'hard', maxAge: '1d' }, "maxAge: is for mode 'safe' only"],
    [{ mode: 'hard', maxBacklog: 10 }, "maxBacklog: is for mode 'safe' only"],
    [{ maxLen: 10, maxBacklog: 5 }, "maxBacklog: must be at least 'maxLen' (10)"],
  ])('refuse a retention that cannot be kept: %j', (given, message) => {
    expect(() => retention(given)).toThrow(message);
    expect(() => defineStream({ name: 's', retention: given as never })).toThrow(message);
  });

  it.each([
    [{ ordering: 'keys' }, "ordering: must be one of 'none', 'key'"],
    [{ schema: 7 }, 'schema: must be a Standard Schema'],
    [{ batch: { size: 0 } }, 'batch.size'],
    [{ lease: 10 }, 'lease: must be at least 1s'],
    [{ startFrom: 'end' }, "startFrom: must be '0', '$'"],
    [{ maxParked: 0 }, 'maxParked'],
  ])('of a consumer name what is wrong: %j', (given, message) => {
    expect(() => parse(given)).toThrow(message);
  });

  it.each([0, 1.5, '4'])('of streams refuse a number of partitions that is none: %j', (partitions) => {
    expect(() => defineStream({ name: 's', partitions: partitions as never })).toThrow('partitions: must be a whole');
    const streams = { s: { partitions } };
    expect(() => resolveStreamOptions({ streams }, 'the spec')).toThrow('streams.s.partitions');
    expect(defineStream({ name: 's', partitions: 4 })).toEqual({ name: 's', partitions: 4 });
  });

  it('of a reader follow from those that were given', () => {
    const { reader } = parse({ concurrency: 4, lease: '10s', startFrom: new Date(5) });
    const options = withReaderDefaults(reader, 25);
    expect(options).toMatchObject({ concurrency: 4, prefetch: 100, reapAfter: 20_000, maxDeliveries: 10 });
    expect(options.startFrom).toBe('4-18446744073709551615');
    expect(parse({ startFrom: '7' }).reader.startFrom).toBe('7-0');
  });
});

describe('schemas of payloads', () => {
  const schema = z.object({ at: z.coerce.date(), inner: z.object({ n: z.number() }) });

  it('give what the handler gets, at once or later', async () => {
    const validate = validatorOf(schema, undefined, 'the spec');
    expect(validate({ at: '2026-01-01', inner: { n: 1 } })).toEqual({ at: new Date('2026-01-01'), inner: { n: 1 } });
    const slow = {
      '~standard': { version: 1, vendor: 'own', validate: async (value: unknown) => ({ value }) },
    } as const;
    await expect(validatorOf(slow, undefined, 'the spec')(7)).resolves.toBe(7);
  });

  it('say where the payload does not fit', () => {
    const validate = validatorOf(schema, undefined, 'the spec');
    expect(() => validate({ at: 0, inner: { n: 'x' } })).toThrow(MessageInvalidError);
    expect(() => validate({ at: 0, inner: { n: 'x' } })).toThrow('inner.n: ');
  });

  it('that are classes need somebody who can check them', () => {
    class Order {}
    expect(() => validatorOf(Order, undefined, 'the spec')).toThrow('give a Standard Schema');
    expect(validatorOf(Order, (type) => () => type.name, 'the spec')({})).toBe('Order');
  });
});

describe('a transaction of ctx.commit', () => {
  it('takes keys of the slot of the stream only, and names the tag', () => {
    const transaction = new StreamTransaction('shop:stream:orders');
    transaction
      .call('SET', 'n:{shop:stream:orders}', 1)
      .call('SMOVE', ['a:{shop:stream:orders}', 'b:{shop:stream:orders}'], 'x');
    expect(transaction.commands).toBe('[["SET",2,"1"],["SMOVE",3,4,"x"]]');
    expect(transaction.keys).toHaveLength(4);
    expect(() => transaction.call('SET', 'elsewhere', 1)).toThrow('give it the tag {shop:stream:orders}');
  });
});
