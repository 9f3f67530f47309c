import { LuaTable } from './table.js';

export type LuaFunction = (...args: LuaValue[]) => LuaValue[];
/** `undefined` is nil. */
export type LuaValue = undefined | boolean | number | string | LuaTable | LuaFunction;

/** An error with a value, as `error` raises it and `pcall` catches it. */
export class LuaError extends Error {
  constructor(readonly value: LuaValue) {
    super(textOf(value instanceof LuaTable ? value.get('err') : value));
  }
}

/** For people. */
export function textOf(value: LuaValue): string {
  return typeof value === 'string' || typeof value === 'number' ? text(value) : typeName(value);
}

/** What compiled programs call: the operators of Lua 5.1. */
export class LuaRuntime {
  /** Only nil and false are false. */
  truth(value: LuaValue): boolean {
    return value !== undefined && value !== false;
  }

  or(left: LuaValue, right: () => LuaValue): LuaValue {
    return this.truth(left) ? left : right();
  }

  and(left: LuaValue, right: () => LuaValue): LuaValue {
    return this.truth(left) ? right() : left;
  }

  not(value: LuaValue): boolean {
    return !this.truth(value);
  }

  equal(left: LuaValue, right: LuaValue): boolean {
    return left === right;
  }

  different(left: LuaValue, right: LuaValue): boolean {
    return left !== right;
  }

  less(left: LuaValue, right: LuaValue): boolean {
    // Texts compare by their bytes, as JavaScript's do for what scripts compare.
    if (typeof left === 'number' && typeof right === 'number') return left < right;
    if (typeof left === 'string' && typeof right === 'string') return left < right;
    throw new LuaError(`attempt to compare ${typeName(left)} with ${typeName(right)}`);
  }

  more(left: LuaValue, right: LuaValue): boolean {
    return this.less(right, left);
  }

  notMore(left: LuaValue, right: LuaValue): boolean {
    return left === right || this.less(left, right);
  }

  notLess(left: LuaValue, right: LuaValue): boolean {
    return left === right || this.less(right, left);
  }

  add(left: LuaValue, right: LuaValue): number {
    return operand(left) + operand(right);
  }

  subtract(left: LuaValue, right: LuaValue): number {
    return operand(left) - operand(right);
  }

  multiply(left: LuaValue, right: LuaValue): number {
    return operand(left) * operand(right);
  }

  divide(left: LuaValue, right: LuaValue): number {
    return operand(left) / operand(right);
  }

  /** With the sign of the divisor. */
  modulo(left: LuaValue, right: LuaValue): number {
    const [a, b] = [operand(left), operand(right)];
    return a - Math.floor(a / b) * b;
  }

  power(left: LuaValue, right: LuaValue): number {
    return operand(left) ** operand(right);
  }

  negate(value: LuaValue): number {
    return -operand(value);
  }

  concat(left: LuaValue, right: LuaValue): string {
    return text(left) + text(right);
  }

  length(value: LuaValue): number {
    if (typeof value === 'string' || value instanceof LuaTable) return value.length;
    throw new LuaError(`attempt to get length of ${typeName(value)}`);
  }

  index(target: LuaValue, key: LuaValue): LuaValue {
    if (target instanceof LuaTable) return target.get(key);
    throw new LuaError(`attempt to index ${typeName(target)}`);
  }

  assign(target: LuaValue, key: LuaValue, value: LuaValue): void {
    if (!(target instanceof LuaTable)) throw new LuaError(`attempt to index ${typeName(target)}`);
    target.set(key, value);
  }

  call(target: LuaValue, args: LuaValue[]): LuaValue[] {
    if (typeof target !== 'function') throw new LuaError(`attempt to call ${typeName(target)}`);
    return target(...args);
  }

  table(): LuaTable {
    return new LuaTable();
  }

  global(globals: ReadonlyMap<string, LuaValue>, name: string): LuaValue {
    if (globals.has(name)) return globals.get(name);
    throw new LuaError(`Script attempted to access nonexistent global variable '${name}'`);
  }

  *range([first, last, step = 1]: LuaValue[]): Generator<number> {
    const [from, to, by] = [operand(first), operand(last), operand(step)];
    for (let n = from; by > 0 ? n <= to : n >= to; n += by) yield n;
  }

  /** A generic `for`: calls the iterator until it gives nil. */
  *iterate([next, state, first]: LuaValue[]): Generator<LuaValue[]> {
    for (let control = first; ;) {
      const values = this.call(next, [state, control]);
      control = values[0];
      if (control === undefined) return;
      yield values;
    }
  }
}

export function typeName(value: LuaValue): string {
  if (value === undefined) return 'nil';
  return value instanceof LuaTable ? 'table' : typeof value;
}

/** As `tonumber` reads a text. */
export function toNumber(value: LuaValue): number | undefined {
  if (typeof value === 'number') return value;
  if (
    typeof value !== 'string' ||
    !/^\s*[-+]?(0[xX][\da-fA-F]+|(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|inf|nan)\s*$/.test(value)
  )
    return;
  const trimmed = value.trim().replace('inf', 'Infinity');
  return trimmed.startsWith('-0x') ? -Number(trimmed.slice(1)) : Number(trimmed);
}

/** As `..` and `tostring` write it: 14 digits. */
export function text(value: LuaValue): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'number') throw new LuaError(`attempt to concatenate ${typeName(value)}`);
  return numberText(value, 14);
}

/** `%.<digits>g` of C. */
export function numberText(value: number, digits: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  const exponent = value === 0 ? 0 : Number(value.toExponential(digits - 1).split('e')[1]);
  if (exponent < -4 || exponent >= digits) {
    const [mantissa, power] = value.toExponential(digits - 1).split('e') as [string, string];
    const sign = power.startsWith('-') ? '-' : '+';
    return `${trimZeros(mantissa)}e${sign}${power.replace(/^[-+]/, '').padStart(2, '0')}`;
  }
  return trimZeros(value.toFixed(Math.max(0, digits - 1 - exponent)));
}

function trimZeros(digits: string): string {
  return digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits;
}

function operand(value: LuaValue): number {
  const number = toNumber(value);
  if (number === undefined) throw new LuaError(`attempt to perform arithmetic on ${typeName(value)}`);
  return number;
}
