import { isAnyArrayBuffer, isDate, isMap, isNativeError, isPromise, isSet } from 'node:util/types';
import { InvalidKeyError } from './keys.errors.js';

const MAX_DEPTH = 200;

/**
 * One text per value: equal values give equal texts, different ones different texts, and types are told apart (`42`,
 * `'42'` and `42n`; `undefined`, `null` and a hole; `0` and `-0`; a Date and its ISO text; a Map and an object). The
 * order of object keys, Map entries and Set members does not matter.
 *
 * A class instance is what its `toJSON()` says, else its own enumerable properties, always with the name of its class;
 * private fields beside public ones cannot be seen from outside and do not count.
 *
 * @param label what the value is, for the error, for example `argument 1`
 * @throws InvalidKeyError for what has no stable text: functions, symbols, promises, streams, signals, requests, errors,
 * cycles, instances whose state is hidden, and nesting deeper than 200 levels
 */
export function canonicalText(value: unknown, label: string): string {
  return write(value, label, []);
}

function write(value: unknown, path: string, ancestors: object[]): string {
  switch (typeof value) {
    case 'string':
      // JSON also keeps lone surrogates apart, which UTF-8 would fold into one replacement character.
      return JSON.stringify(value);
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value);
    case 'bigint':
      return `${value}n`;
    case 'boolean':
    case 'undefined':
      return String(value);
    case 'object':
      return value === null ? 'null' : writeNested(value, path, ancestors);
    default:
      throw refused(path, `a ${typeof value}`);
  }
}

function writeNested(value: object, path: string, ancestors: object[]): string {
  if (ancestors.includes(value)) throw refused(path, 'a reference to an object that contains it');
  if (ancestors.length >= MAX_DEPTH) throw refused(path, `nested deeper than ${MAX_DEPTH} levels`);
  ancestors.push(value);
  const text = Array.isArray(value) ? writeArray(value, path, ancestors) : writeObject(value, path, ancestors);
  ancestors.pop();
  return text;
}

function writeArray(items: readonly unknown[], path: string, ancestors: object[]): string {
  const texts: string[] = [];
  for (let index = 0; index < items.length; index++) {
    const isHole = items[index] === undefined && !(index in items);
    texts.push(isHole ? 'hole' : write(items[index], `${path}[${index}]`, ancestors));
  }
  return `[${texts.join()}]`;
}

function writeObject(value: object, path: string, ancestors: object[]): string {
  const prototype = Object.getPrototypeOf(value) as object | null;
  // The prototype of a plain object ends the chain, in whichever realm the object was made.
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return writeProperties(value, path, ancestors);
  if (isDate(value)) return `Date(${value.getTime()})`;
  if (isMap(value)) return writeMap(value, path, ancestors);
  if (isSet(value)) return writeSet(value, path, ancestors);
  if (ArrayBuffer.isView(value)) return writeBytes(value);
  if (isAnyArrayBuffer(value)) return `ArrayBuffer(${Buffer.from(value).toString('base64')})`;
  return writeInstance(value, prototype, path, ancestors);
}

function writeMap(map: ReadonlyMap<unknown, unknown>, path: string, ancestors: object[]): string {
  const entries = Array.from(map, ([key, item]) => {
    return `${write(key, `${path}.key`, ancestors)}=>${write(item, `${path}.value`, ancestors)}`;
  });
  return `Map(${entries.sort().join()})`;
}

function writeSet(set: ReadonlySet<unknown>, path: string, ancestors: object[]): string {
  const items = Array.from(set, (item) => write(item, `${path}.item`, ancestors));
  return `Set(${items.sort().join()})`;
}

function writeProperties(value: object, path: string, ancestors: object[]): string {
  if (Object.getOwnPropertySymbols(value).some((symbol) => Object.prototype.propertyIsEnumerable.call(value, symbol))) {
    throw refused(path, 'an object with symbol keys');
  }
  const names = Object.keys(value).sort();
  const properties = names.map((name) => {
    return `${JSON.stringify(name)}:${write((value as Record<string, unknown>)[name], `${path}.${name}`, ancestors)}`;
  });
  return `{${properties.join()}}`;
}

function writeBytes(view: ArrayBufferView): string {
  const name = Buffer.isBuffer(view) ? 'Buffer' : Object.prototype.toString.call(view).slice(8, -1);
  return `${name}(${Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString('base64')})`;
}

function writeInstance(value: object, prototype: object, path: string, ancestors: object[]): string {
  const what = withoutStableText(value);
  if (what !== undefined) throw refused(path, what);
  const name = className(prototype);
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return `${JSON.stringify(name)}(${write(toJSON.call(value), path, ancestors)})`;
  // A data class without fields set is fine; a class with behaviour but no visible state keeps its state elsewhere
  // (private fields, internal slots), so that all its instances would look equal.
  if (Object.keys(value).length === 0 && hasBehaviour(prototype)) {
    throw refused(path, `an instance of ${name || 'a class'}, whose state is not visible`);
  }
  return JSON.stringify(name) + writeProperties(value, path, ancestors);
}

function withoutStableText(value: object): string | undefined {
  const like = value as Record<string, unknown>;
  if (isNativeError(value) || value instanceof Error) return 'an error';
  if (isPromise(value) || typeof like.then === 'function') return 'a promise';
  if (typeof like.aborted === 'boolean' && typeof like.addEventListener === 'function') return 'an AbortSignal';
  if (['pipe', 'getReader', 'getWriter'].some((method) => typeof like[method] === 'function')) return 'a stream';
  if (typeof like.headers === 'object' && (like.method ?? like.status ?? like.statusCode) !== undefined) {
    return 'a request or response';
  }
  return undefined;
}

function className(prototype: object): string {
  const { constructor } = prototype as { constructor?: unknown };
  return typeof constructor === 'function' ? constructor.name : '';
}

function hasBehaviour(prototype: object): boolean {
  let current: object | null = prototype;
  while (current !== null && Object.getPrototypeOf(current) !== null) {
    if (Reflect.ownKeys(current).some((key) => key !== 'constructor')) return true;
    current = Object.getPrototypeOf(current) as object | null;
  }
  return false;
}

function refused(path: string, what: string): InvalidKeyError {
  return new InvalidKeyError(
    `${path} is ${what}, which has no stable text; give \`key\` and build the key from plain values (text, numbers, dates)`,
  );
}
