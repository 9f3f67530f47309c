import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ClassTypes, problemOf, type Class } from './class-types.js';
import { CodecError } from './codec.errors.js';
import { decodeValue, encodeCompact, encodeValue } from './typed-json.js';
import { ValueCodec } from './value-codec.js';

class Money {
  constructor(
    readonly amount: bigint,
    readonly currency: string,
  ) {}
  get text(): string {
    return `${this.amount} ${this.currency}`;
  }
}
class Order {
  static built = 0;
  lines: unknown[] = [];
  $note?: string;
  constructor(readonly at: Date) {
    Order.built++;
  }
}
class RushOrder extends Order {
  readonly by = new Set(['air']);
  set status(value: unknown) {
    Order.built += 1000;
    void value;
  }
}
class Bare extends (null as unknown as { new (): object }) {}

const types = new ClassTypes([Money, Order, RushOrder]);

function roundTrip(value: unknown): unknown {
  return decodeValue(encodeValue(value, types), types);
}

/** Jest's equality trips over a key `constructor`. */
function shown(value: unknown): string {
  return inspect(value, { depth: Infinity, maxArrayLength: null, maxStringLength: null });
}

describe('classes in typed JSON', () => {
  it('come back as they were: class, methods, getters, nested values', () => {
    const order = new RushOrder(new Date(5));
    order.lines.push(new Money(5n, 'EUR'), { total: new Money(7n, 'USD') }, undefined);
    order.$note = '$$';
    const copy = roundTrip({ order, map: new Map([['a', new Money(1n, 'EUR')]]) }) as { order: RushOrder };
    expect(copy).toStrictEqual({ order, map: new Map([['a', new Money(1n, 'EUR')]]) });
    expect(copy.order).toBeInstanceOf(RushOrder);
    expect((copy.order.lines[0] as Money).text).toBe('5 EUR');
    expect(copy.order).not.toBe(order);
  });

  it('come back without running a constructor or a setter', () => {
    const text = encodeValue(new Order(new Date(0)), types);
    const before = Order.built;
    expect(decodeValue(text, types)).toBeInstanceOf(Order);
    const hostile = decodeValue('{"$":"class:RushOrder","v":{"status":"set","constructor":1}}', types) as object;
    expect(Object.hasOwn(hostile, 'status')).toBe(true);
    expect(hostile).toBeInstanceOf(RushOrder);
    expect(Order.built).toBe(before);
  });

  it('come back equal, nested in any way', () => {
    const leaf = fc.oneof(
      fc.tuple(fc.bigInt(), fc.string()).map(([amount, currency]) => new Money(amount, currency)),
      fc.anything({ withBigInt: true, withDate: true, key: fc.constantFrom('a', '$', '$$x', 'v', 'constructor') }),
    );
    const nested = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, leaf, tie('order'), fc.array(tie('value'), { maxLength: 3 })),
      order: fc.tuple(fc.boolean(), fc.array(tie('value'), { maxLength: 3 })).map(([rush, lines]) => {
        const order = rush ? new RushOrder(new Date(0)) : new Order(new Date(0));
        return Object.assign(order, { lines, $note: 'x' });
      }),
    })).value;
    fc.assert(
      fc.property(nested, (value) => {
        expect(shown(roundTrip(value))).toBe(shown(value));
      }),
      { numRuns: 1_000 },
    );
  });

  it('are written as readable marks, and leave values without them plain', () => {
    expect(encodeValue(new Money(1n, 'EUR'), types)).toBe(
      '{"$":"class:Money","v":{"amount":{"$":"bigint","v":"1"},"currency":"EUR"}}',
    );
    expect(encodeCompact({ a: 1 }, types).codec).toBe('json');
  });

  it('extending null are kept when listed, and refused when not', () => {
    const bare = Object.create(Bare.prototype as object) as { a: number };
    bare.a = 1;
    const listed = new ClassTypes([Bare]);
    const copy = decodeValue(encodeValue(bare, listed), listed) as object;
    expect(Object.getPrototypeOf(copy)).toBe(Bare.prototype);
    expect({ ...copy }).toEqual({ a: 1 });
    expect(() => encodeValue(bare)).toThrow(/instance of Bare/);
  });

  it('that are not listed are refused, also subclasses and others of the same name', () => {
    const Other = { Money: class Money {} }.Money;
    class Sub extends Money {}
    for (const value of [new Other(), new Sub(1n, ''), new (class {})()]) {
      expect(() => encodeValue([value], types)).toThrow(CodecError);
      expect(() => encodeValue([value], types)).toThrow('value[0]');
    }
    expect(() => encodeValue(new Sub(1n, ''), types)).toThrow(/list its class in the option 'types'/);
    expect(() => encodeValue(new Other(), types)).toThrow(/another class Money than the one in 'types'/);
    expect(() => encodeValue(new Money(1n, ''))).toThrow(/give a plain object/);
  });

  it.each([
    '{"$":"class:Unknown","v":{}}',
    '{"$":"class:","v":{}}',
    '{"$":"class:Object","v":{}}',
    '{"$":"class:__proto__","v":{}}',
    '{"$":"class:Money"}',
    '{"$":"class:Money","v":null}',
    '{"$":"class:Money","v":[]}',
    '{"$":"class:Money","v":"x"}',
    '{"$":"class:Money","v":{"$":"date","v":null}}',
    '{"$":"class:Money","v":{"__proto__":{"polluted":1}}}',
  ])('cannot be made of %s', (text) => {
    expect(() => decodeValue(text, types)).toThrow(CodecError);
  });

  it('are a miss for whoever does not list them', () => {
    const { codec, text } = new ValueCodec(types).encode(new Money(1n, 'EUR'));
    expect(() => new ValueCodec().decode(codec, text)).toThrow(/not in 'types'/);
    const other = new ValueCodec();
    other.types.add([Money], 'the spec');
    expect(other.decode(codec, text)).toEqual(new Money(1n, 'EUR'));
  });
});

describe('a list of classes', () => {
  it.each<[string, unknown, RegExp]>([
    ['no class', 'Order', /must be a class/],
    ['an arrow function', () => ({}), /must be a class/],
    ['an instance', new Money(1n, ''), /must be a class/],
    ['a class without a name', class {}, /no name/],
    ['a built-in', Map, /built-in Map/],
    ['Object', Object, /built-in Object/],
    ['a subclass of a subclass of a built-in', class A extends class B extends Error {} {}, /built-in Error/],
    ['Buffer', Buffer, /built-in Uint8Array/],
    [
      'a class with private members',
      class Secret {
        readonly #key = 1;
        get key(): number {
          return this.#key;
        }
      },
      /private #members \(in Secret\)/,
    ],
  ])('refuses %s', (_, type, message) => {
    // The first class of a list has its name from the variable in some transpilers.
    if (message.source === 'no name') Object.defineProperty(type, 'name', { value: '' });
    expect(problemOf(type)).toMatch(message);
  });

  it.each<[string, Class]>([
    ['a class', Money],
    ['a subclass', RushOrder],
    ['a class that extends null', Bare],
    // oxlint-disable-next-line func-names
    ['a function as constructor', function Old() {} as unknown as Class],
  ])('accepts %s', (_, type) => expect(problemOf(type)).toBeUndefined());

  it('grows, unless names clash', () => {
    const Other = { Money: class Money {} }.Money;
    const growing = new ClassTypes([Money]);
    growing.add([Order, Money], 'the spec');
    expect(growing.prototypeOf('Order')).toBe(Order.prototype);
    expect(() => growing.add([RushOrder, Other], 'ProductService.find')).toThrow(
      /ProductService\.find:\n {2}- types: has the name 'Money' like another class in this application/,
    );
    expect(growing.prototypeOf('Money')).toBe(Money.prototype);
    expect(growing.prototypeOf('RushOrder')).toBeUndefined();
  });
});
