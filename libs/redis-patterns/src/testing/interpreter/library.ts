import { expressionOf } from './pattern.js';
import { LuaError, numberText, text, toNumber, typeName, type LuaFunction, type LuaValue } from './runtime.js';
import { decode, encode } from './serial.js';
import { LuaTable } from './table.js';

/** Wraps a function of one result. */
const one =
  (fn: (...args: LuaValue[]) => LuaValue): LuaFunction =>
  (...args) => [fn(...args)];
const numbers = (fn: (...args: number[]) => number): LuaFunction =>
  one((...args) => fn(...args.map((arg) => number(arg))));

/** What a script finds beside `KEYS`, `ARGV` and `redis`: the functions of Lua 5.1 that scripts use. */
export const LIBRARY: ReadonlyMap<string, LuaValue> = new Map<string, LuaValue>([
  ['tonumber', one((value) => toNumber(value))],
  ['tostring', one((value) => (typeof value === 'number' || typeof value === 'string' ? text(value) : printed(value)))],
  ['type', one((value) => typeName(value))],
  ['unpack', (table, from = 1, to = tableOf(table).length) => slice(tableOf(table), number(from), number(to))],
  ['select', (which, ...rest) => (which === '#' ? [rest.length] : rest.slice(number(which) - 1))],
  ['ipairs', (table) => [nextItem, table, 0]],
  ['pairs', (table) => [nextOf(tableOf(table).entries()), table, undefined]],
  ['error', (value) => raise(value)],
  ['pcall', protectedCall],
  ['cjson', functions({ decode: one(decode), encode: one(encode) })],
  ['cmsgpack', functions({ pack: one(encode), unpack: one(decode) })],
  [
    'math',
    functions({
      floor: numbers(Math.floor),
      ceil: numbers(Math.ceil),
      max: numbers(Math.max),
      min: numbers(Math.min),
      abs: numbers(Math.abs),
      sqrt: numbers(Math.sqrt),
      log: numbers(Math.log),
      pow: numbers(Math.pow),
      fmod: numbers((a, b) => a! % b!),
      random: numbers((a, b) => random(a, b)),
      huge: Infinity,
    }),
  ],
  [
    'string',
    functions({
      sub: one((value, from, to = -1) => sub(text(value), number(from), number(to))),
      len: one((value) => text(value).length),
      rep: one((value, count) => text(value).repeat(Math.max(0, number(count)))),
      lower: one((value) => text(value).toLowerCase()),
      upper: one((value) => text(value).toUpperCase()),
      byte: (value, at = 1) => [text(value).charCodeAt(number(at) - 1)],
      char: one((...codes) => String.fromCharCode(...codes.map((code) => number(code)))),
      format: one(format),
      match,
      find,
      gsub,
      gmatch: (value, pattern) => [nextMatch(text(value), text(pattern))],
    }),
  ],
  [
    'table',
    functions({
      insert: (table, at, value) => insert(tableOf(table), at, value),
      remove: one((table, at) => remove(tableOf(table), at)),
      concat: one((table, separator = '', from = 1, to = tableOf(table).length) =>
        slice(tableOf(table), number(from), number(to))
          .map((item) => text(item))
          .join(text(separator)),
      ),
      sort: (table, before) => sort(tableOf(table), before),
      getn: one((table) => tableOf(table).length),
    }),
  ],
]);

function functions(entries: Record<string, LuaValue>): LuaTable {
  const table = new LuaTable();
  for (const [name, value] of Object.entries(entries)) table.set(name, value);
  return table;
}

function number(value: LuaValue): number {
  const found = toNumber(value);
  if (found === undefined) raise(`number expected, got ${typeName(value)}`);
  return found!;
}

function tableOf(value: LuaValue): LuaTable {
  return value instanceof LuaTable ? value : raise(`table expected, got ${typeName(value)}`);
}

function raise(value: LuaValue): never {
  throw new LuaError(value);
}

function printed(value: LuaValue): string {
  return typeof value === 'boolean' ? String(value) : typeName(value);
}

function slice(table: LuaTable, from: number, to: number): LuaValue[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => table.get(from + index));
}

function nextItem(table: LuaValue, index: LuaValue): LuaValue[] {
  const next = number(index) + 1;
  const value = tableOf(table).get(next);
  return value === undefined ? [undefined] : [next, value];
}

function nextOf(entries: [LuaValue, LuaValue][]): LuaFunction {
  let at = 0;
  return () => entries[at++] ?? [undefined];
}

function protectedCall(fn: LuaValue, ...args: LuaValue[]): LuaValue[] {
  try {
    return [true, ...(fn as LuaFunction)(...args)];
  } catch (error) {
    return [false, error instanceof LuaError ? error.value : String(error)];
  }
}

function random(from?: number, to?: number): number {
  if (from === undefined) return Math.random();
  const [low, high] = to === undefined ? [1, from] : [from, to];
  return low + Math.floor(Math.random() * (high - low + 1));
}

function sub(value: string, from: number, to: number): string {
  const start = from < 0 ? Math.max(0, value.length + from) : Math.max(0, from - 1);
  return value.slice(start, to < 0 ? value.length + to + 1 : to);
}

function format(pattern: LuaValue, ...args: LuaValue[]): string {
  let at = 0;
  return text(pattern).replace(/%(?:%|([-0]*)(\d*)(?:\.(\d+))?([dsfgxcu]))/g, (whole, flags, width, digits, kind) => {
    if (whole === '%%') return '%';
    const value = formatted(kind as string, digits === undefined ? undefined : Number(digits), args[at++]);
    if ((flags as string).includes('-')) return value.padEnd(Number(width));
    return value.padStart(Number(width), (flags as string).includes('0') ? '0' : ' ');
  });
}

function formatted(kind: string, digits: number | undefined, value: LuaValue): string {
  if (kind === 's') return text(value).slice(0, digits);
  if (kind === 'f') return number(value).toFixed(digits ?? 6);
  if (kind === 'g') return numberText(number(value), digits ?? 6);
  if (kind === 'x') return Math.trunc(number(value)).toString(16);
  return kind === 'c' ? String.fromCharCode(number(value)) : BigInt(Math.trunc(number(value))).toString();
}

/** Captures, or the whole where there are none. */
function found(result: RegExpExecArray): LuaValue[] {
  return result.length > 1 ? result.slice(1) : [result[0]];
}

function match(value: LuaValue, pattern: LuaValue): LuaValue[] {
  const result = expressionOf(text(pattern)).exec(text(value));
  return result === null ? [undefined] : found(result);
}

function find(value: LuaValue, pattern: LuaValue, from: LuaValue = 1, plain?: LuaValue): LuaValue[] {
  const offset = number(from) - 1;
  const rest = text(value).slice(offset);
  if (plain === true) {
    const at = rest.indexOf(text(pattern));
    return at < 0 ? [undefined] : [offset + at + 1, offset + at + text(pattern).length];
  }
  const result = expressionOf(text(pattern)).exec(rest);
  if (result === null) return [undefined];
  const start = offset + result.index;
  return [start + 1, start + result[0].length, ...result.slice(1)];
}

function gsub(value: LuaValue, pattern: LuaValue, by: LuaValue): LuaValue[] {
  let count = 0;
  const replaced = text(value).replace(expressionOf(text(pattern), 'g'), (...all: unknown[]) => {
    count++;
    const captures = all.slice(
      0,
      all.findIndex((each) => typeof each === 'number'),
    ) as string[];
    const key = captures[1] ?? captures[0]!;
    if (typeof by === 'function') return text(by(...captures.slice(captures.length > 1 ? 1 : 0))[0] ?? captures[0]);
    if (by instanceof LuaTable) return text(by.get(key) ?? captures[0]);
    return text(by).replace(/%(.)/g, (_, which: string) =>
      /\d/.test(which) ? (captures[Number(which)] ?? key) : which,
    );
  });
  return [replaced, count];
}

function nextMatch(value: string, pattern: string): LuaFunction {
  const matches = value.matchAll(expressionOf(pattern, 'g'));
  return () => {
    const next = matches.next();
    return next.done ? [undefined] : found(next.value);
  };
}

function insert(table: LuaTable, at: LuaValue, value: LuaValue): LuaValue[] {
  if (value === undefined) table.push(at);
  else table.items.splice(number(at) - 1, 0, value);
  return [];
}

function remove(table: LuaTable, at: LuaValue): LuaValue {
  return at === undefined ? table.items.pop() : table.items.splice(number(at) - 1, 1)[0];
}

function sort(table: LuaTable, before: LuaValue): LuaValue[] {
  const less = (a: LuaValue, b: LuaValue): boolean =>
    typeof before === 'function' ? before(a, b)[0] === true : (a as number) < (b as number);
  table.items.sort((a, b) => (less(a, b) ? -1 : less(b, a) ? 1 : 0));
  return [];
}
